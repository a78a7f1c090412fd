// Follows each link of the built site that stays within it: to a page, to a file, and to a heading.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'

const dist = path.resolve('.vitepress/dist')
const pages = readdirSync(dist, { recursive: true }).filter((name) => name.endsWith('.html'))
const text = new Map(pages.map((name) => [name, readFileSync(path.join(dist, name), 'utf8')]))
const ids = (name) => new Set([...text.get(name).matchAll(/ id="([^"]+)"/g)].map((m) => m[1]))

let links = 0
const dead = []
for (const [name, html] of text) {
  if (name === '404.html') continue
  for (const [, href] of html.matchAll(/<(?:a|img|link|script)\b[^>]* (?:href|src)="([^"]+)"/g)) {
    if (/^[a-z]+:/.test(href)) continue
    links++
    const url = new URL(href.replaceAll('&amp;', '&'), `http://site/${name}`)
    const target = decodeURIComponent(url.pathname).slice(1)
    const file = [target, `${target}.html`, path.posix.join(target, 'index.html')].find((f) => f !== '' && existsSync(path.join(dist, f)) && !f.endsWith('/') && path.extname(f) !== '')
    if (!file) {
      dead.push(`${name}: ${href}`)
    } else if (url.hash && text.has(file) && !ids(file).has(decodeURIComponent(url.hash.slice(1)))) {
      dead.push(`${name}: ${href}: no such heading`)
    }
  }
}
console.log(`${links} links within ${pages.length} pages`)
if (links < 100 || dead.length > 0) {
  console.error([...new Set(dead)].join('\n'))
  process.exit(1)
}
