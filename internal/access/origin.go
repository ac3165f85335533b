package access

import "context"

type originKey struct{}

// WithOrigin lets everything below know where a request came from. The edge
// that knows which proxies to believe sets it, for all edges.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf gives what WithOrigin set.
func OriginOf(ctx context.Context) (o Origin, ok bool) {
	o, ok = ctx.Value(originKey{}).(Origin)
	return o, ok
}
