// Follows each link of the built site that stays within it: to a page, to a file, and to a heading. The sidebar has to have
// each page of docs.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'

const base = process.env.SITE_BASE ?? '/'
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
    const url = new URL(href.replaceAll('&amp;', '&'), `http://site${base}${name}`)
    if (!url.pathname.startsWith(base)) {
      dead.push(`${name}: ${href}: not below ${base}`)
      continue
    }
    const target = decodeURIComponent(url.pathname).slice(base.length)
    const file = [target, `${target}.html`, path.posix.join(target, 'index.html')].find((f) => f !== '' && existsSync(path.join(dist, f)) && !f.endsWith('/') && path.extname(f) !== '')
    if (!file) {
      dead.push(`${name}: ${href}`)
    } else if (url.hash && text.has(file) && !ids(file).has(decodeURIComponent(url.hash.slice(1)))) {
      dead.push(`${name}: ${href}: no such heading`)
    }
  }
}
const sidebar = text.get('index.html').match(/<aside class="VPSidebar".*?<\/aside>/s)[0]
for (const name of pages) {
  const page = name.replace(/(index)?\.html$/, '')
  if (name.startsWith('docs/') && !sidebar.includes(`href="${base}${page}"`)) dead.push(`${name}: not in the sidebar`)
}
for (const name of ['llms.txt']) if (!existsSync(path.join(dist, name))) dead.push(`${name}: not published`)
console.log(`${links} links within ${pages.length} pages`)
if (links < 100 || dead.length > 0) {
  console.error([...new Set(dead)].join('\n'))
  process.exit(1)
}
