package cli

import "iter"

// inOrder runs f for 0 to n-1, parallel of them at a time, and yields what they
// return in order. At most parallel calls run ahead of the caller, so that no more
// results than that wait in memory. When the caller stops early, inOrder waits for
// the calls under way.
func inOrder[T any](n, parallel int, f func(i int) (T, error)) iter.Seq2[T, error] {
	type result struct {
		value T
		err   error
	}
	return func(yield func(T, error) bool) {
		results := make([]chan result, 0, n)
		next := 0
		defer func() {
			for ; next < len(results); next++ {
				<-results[next]
			}
		}()
		for next < n {
			for i := len(results); i < min(next+parallel, n); i++ {
				c := make(chan result, 1)
				results = append(results, c)
				go func() {
					v, err := f(i)
					c <- result{v, err}
				}()
			}
			r := <-results[next]
			next++
			if !yield(r.value, r.err) {
				return
			}
		}
	}
}
