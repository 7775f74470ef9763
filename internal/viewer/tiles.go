package viewer

// tilesJSON says which tiles a device has.
type tilesJSON struct {
	MaxLevel int `json:"max_level"`
}

// tileBuckets is how many buckets a tile has along an axis.
const tileBuckets = 512

// tiles says which tiles the device has: at the highest level one holds all events.
func (d *Device) tiles() tilesJSON {
	level := 0
	for d.Events() > tileBuckets<<level {
		level++
	}
	return tilesJSON{MaxLevel: level}
}
