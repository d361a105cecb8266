package enginefake

import "context"

// LogTail is the end of the container's Log.
func (e *Engine) LogTail(ctx context.Context, id string, limit int) (string, error) {
	log, err := e.Logs(ctx, id, 0)
	return log[max(0, len(log)-limit):], err
}
