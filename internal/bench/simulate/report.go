package simulate

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// quantile returns the q-quantile (0 to 1) of sorted durations.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// peak returns the largest value of the loads.
func peak[T cmp.Ordered](loads []Load, value func(Load) T) (most T) {
	for _, l := range loads {
		most = max(most, value(l))
	}
	return most
}

func mean(loads []Load, value func(Load) float64) (sum float64) {
	for _, l := range loads {
		sum += value(l) / float64(len(loads))
	}
	return sum
}

func ofServer(l Load) float64   { return l.Server }
func ofDatabase(l Load) float64 { return l.Database }

// Table writes one column for each day.
func Table(w io.Writer, days []*Day) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(name string, value func(*Day) string) {
		fmt.Fprint(t, name)
		for _, d := range days {
			fmt.Fprint(t, "\t", value(d))
		}
		fmt.Fprintln(t, "\t")
	}
	span := func(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }
	line("users", func(d *Day) string { return fmt.Sprint(d.Config.Users) })
	line("provisioner slots", func(d *Day) string { return fmt.Sprint(d.Config.Slots) })
	line("replicas", func(d *Day) string { return fmt.Sprint(d.Config.Replicas) })
	line("builds", func(d *Day) string { return fmt.Sprint(d.Builds) })
	for _, q := range []float64{0.5, 0.95, 0.99, 1} {
		line(fmt.Sprintf("wait p%g", 100*q), func(d *Day) string { return span(quantile(d.Waits, q)) })
	}
	line("longest wait before the restart at 13:00", func(d *Day) string {
		return span(peak(d.Loads[:restartAt/Step], func(l Load) time.Duration { return quantile(l.Waits, 1) }))
	})
	line("longest queue", func(d *Day) string { return fmt.Sprint(peak(d.Loads, func(l Load) int { return l.Waiting })) })
	line("most busy slots", func(d *Day) string { return fmt.Sprint(peak(d.Loads, func(l Load) int { return l.Busy })) })
	line("most agents", func(d *Day) string { return fmt.Sprint(peak(d.Loads, func(l Load) int { return l.Agents })) })
	line("cores of all replicas, mean", func(d *Day) string { return fmt.Sprintf("%.2f", mean(d.Loads, ofServer)) })
	line("cores of all replicas, peak", func(d *Day) string { return fmt.Sprintf("%.2f", peak(d.Loads, ofServer)) })
	line("cores of a replica, peak", func(d *Day) string { return fmt.Sprintf("%.2f", peak(d.Loads, ofServer)/float64(d.Config.Replicas)) })
	line("cores of PostgreSQL, mean", func(d *Day) string { return fmt.Sprintf("%.2f", mean(d.Loads, ofDatabase)) })
	line("cores of PostgreSQL, peak", func(d *Day) string { return fmt.Sprintf("%.2f", peak(d.Loads, ofDatabase)) })
	line("new rows (million)", func(d *Day) string { return fmt.Sprintf("%.2f", d.Rows/1e6) })
	line("growth of the database (GB)", func(d *Day) string { return fmt.Sprintf("%.2f", d.Bytes/1e9) })
	return t.Flush()
}

// Sizes of the plot in pixels.
const (
	plotWidth  = 900
	plotHeight = 150
	plotLeft   = 70
	plotGap    = 50
)

// Plot writes an SVG with three charts over the day: waits in the queue, busy slots, and cores.
func (d *Day) Plot(w io.Writer) error {
	var b strings.Builder
	height := 3*(plotHeight+plotGap) + 30
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", plotWidth, height)
	wait := func(q float64) func(Load) float64 {
		return func(l Load) float64 { return quantile(l.Waits, q).Seconds() }
	}
	d.chart(&b, 0, fmt.Sprintf("Wait in the queue in seconds, %d slots", d.Config.Slots), []line{
		{"p95", "#d62728", wait(0.95)}, {"p50", "#1f77b4", wait(0.5)},
	})
	d.chart(&b, 1, "Busy provisioner slots", []line{{"busy", "#1f77b4", func(l Load) float64 { return float64(l.Busy) }}})
	d.chart(&b, 2, fmt.Sprintf("Cores: PostgreSQL, and all %d replicas", d.Config.Replicas), []line{
		{"replicas", "#2ca02c", ofServer}, {"PostgreSQL", "#d62728", ofDatabase},
	})
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

type line struct {
	name, color string
	value       func(Load) float64
}

// chart draws one chart below the n before.
func (d *Day) chart(b *strings.Builder, n int, title string, lines []line) {
	top := 30 + n*(plotHeight+plotGap)
	var most float64
	for _, l := range lines {
		most = max(most, peak(d.Loads, l.value))
	}
	most = max(most, 1e-9)
	width := float64(plotWidth - plotLeft - 20)
	fmt.Fprintf(b, `<text x="%d" y="%d" font-weight="bold">%s</text>`+"\n", plotLeft, top-8, title)
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.0f" height="%d" fill="none" stroke="#999"/>`+"\n", plotLeft, top, width, plotHeight)
	for _, share := range []float64{0, 0.5, 1} {
		y := float64(top) + (1-share)*plotHeight
		fmt.Fprintf(b, `<text x="%d" y="%.0f" text-anchor="end">%.3g</text>`+"\n", plotLeft-6, y+4, share*most)
	}
	for hour := 0; hour <= 24; hour += 3 {
		x := plotLeft + width*float64(hour)/24
		fmt.Fprintf(b, `<text x="%.0f" y="%d" text-anchor="middle">%d:00</text>`+"\n", x, top+plotHeight+16, hour)
	}
	for i, l := range slices.Backward(lines) {
		fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="1.5" points="`, l.color)
		for j, load := range d.Loads {
			x := plotLeft + width*float64(j)/float64(len(d.Loads)-1)
			fmt.Fprintf(b, "%.1f,%.1f ", x, float64(top)+plotHeight*(1-l.value(load)/most))
		}
		b.WriteString(`"/>` + "\n")
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end" fill="%s">%s</text>`+"\n", plotWidth-30, top+16+16*i, l.color, l.name)
	}
}
