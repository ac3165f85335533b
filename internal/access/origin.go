package access

import "context"

type originKey struct{}

// WithOrigin returns a context with the source of a request. The layer that knows the trusted proxies
// sets it.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf returns the source set by WithOrigin.
func OriginOf(ctx context.Context) (o Origin, ok bool) {
	o, ok = ctx.Value(originKey{}).(Origin)
	return o, ok
}
