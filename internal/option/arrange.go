package option

import "slices"

// Under sets the help topic of the options of a server, and makes them local to its
// command.
func Under(topic string, options ...*Option) []*Option {
	for _, o := range options {
		o.Topic = topic
		o.OnlyHere()
	}
	return options
}

// After places options behind the one with a flag, which another package can declare.
// Arrange applies it.
func After(flag string, options ...*Option) []*Option {
	for _, o := range options {
		o.after, flag = flag, o.Flag
	}
	return options
}

// Arrange returns the options in the order of help and files: as given, except that those
// placed with After follow the option that they name. Options behind an unknown flag come
// last.
func Arrange(options []*Option) []*Option {
	var out, waiting []*Option
	for _, o := range options {
		if o.after == "" {
			out = append(out, o)
		} else {
			waiting = append(waiting, o)
		}
	}
	for placed := true; placed && len(waiting) > 0; {
		placed = false
		waiting = slices.DeleteFunc(waiting, func(o *Option) bool {
			i := slices.IndexFunc(out, func(other *Option) bool { return other.Flag == o.after })
			if i < 0 {
				return false
			}
			out, placed = slices.Insert(out, i+1, o), true
			return true
		})
	}
	return append(out, waiting...)
}
