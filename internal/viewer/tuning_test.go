package viewer

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestExportEndsWhileItWaits: a page that waits for settings is not made when it is no longer
// wanted.
func TestExportEndsWhileItWaits(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	s := newServer(t, testdata("recordings/resnet50.pickle.xz"))
	s.Load(ctx)
	s.session.devices()[0].made.tuning = newTuning(ctx, func(ctx context.Context) (*tuneJSON, error) {
		stop() // as Ctrl-C does, while the search is on
		<-ctx.Done()
		return nil, nil
	})
	if _, err := s.Export(ctx, ExportOptions{MaxBytes: 20e6}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was canceled", err)
	}
}

// searching is a tuning whose searches take an hour of a fake clock, and how many began and
// were ended early.
func searching(life context.Context) (t *tuning, began, ended *atomic.Int32) {
	began, ended = new(atomic.Int32), new(atomic.Int32)
	return newTuning(life, func(ctx context.Context) (*tuneJSON, error) {
		began.Add(1)
		select {
		case <-ctx.Done():
			ended.Add(1)
			return nil, context.Cause(ctx)
		case <-time.After(time.Hour):
			return &tuneJSON{}, nil
		}
	}), began, ended
}

// TestTuningIsWaitedFor: a page that asks again and again gets what one search found, and so
// does who comes later.
func TestTuningIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tuning, began, ended := searching(t.Context())
		for {
			v, err := tuning.answer(nil)
			if err == nil {
				if v.(*tuneJSON) == nil {
					t.Fatal("the answer is empty")
				}
				break
			}
			if busy := new(statusError); !errors.As(err, &busy) || busy.status != http.StatusConflict {
				t.Fatal(err)
			}
			time.Sleep(time.Minute) // a page that is not looked at
		}
		time.Sleep(24 * time.Hour)
		if _, err := tuning.answer(nil); err != nil || began.Load() != 1 || ended.Load() != 0 {
			t.Errorf("%v, after %d searches of which %d were ended", err, began.Load(), ended.Load())
		}
	})
}

// TestTuningIsGivenUp: a search that nobody asks for any more ends, and the next question
// begins another.
func TestTuningIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tuning, began, ended := searching(t.Context())
		gone := make(chan struct{})
		close(gone)
		for k := range int32(2) {
			if _, err := tuning.answer(gone); err == nil {
				t.Fatal("there is an answer after no time")
			}
			time.Sleep(tuneForgotten - time.Second)
			if synctest.Wait(); ended.Load() != k {
				t.Fatalf("search %d was given up before its time", k)
			}
			time.Sleep(2 * time.Second)
			if synctest.Wait(); began.Load() != k+1 || ended.Load() != k+1 {
				t.Fatalf("%d searches began and %d were ended, want %d", began.Load(), ended.Load(), k+1)
			}
		}
	})
}

// TestTuningEndsWithTheServer: a search ends when the server does, at once, and those who
// wait are told.
func TestTuningEndsWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life, stop := context.WithCancel(t.Context())
		tuning, _, ended := searching(life)
		answers := make(chan error)
		go func() {
			_, err := tuning.answer(nil)
			answers <- err
		}()
		synctest.Wait()
		began := time.Now()
		stop()
		err := <-answers
		if !errors.Is(err, context.Canceled) || ended.Load() != 1 || time.Since(began) != 0 {
			t.Errorf("%v after %v; %d searches were ended", err, time.Since(began), ended.Load())
		}
		time.Sleep(2 * tuneForgotten) // nothing is left that would run
	})
}
