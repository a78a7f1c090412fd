package reader

// KeepJSON makes the decoder work as with Options.FieldsJSON.
func (d *Decoder) KeepJSON() *Decoder {
	d.keepJSON()
	return d
}
