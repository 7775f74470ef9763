package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseName(t *testing.T) {
	tests := []struct {
		path string
		rank int
		step int64
		exit bool
		job  string
	}{
		{"snapshot.pickle", -1, -1, false, "/snapshot.pickle"},
		{"iteration_10/rank3_memory_snapshot.pickle", 3, 10, false, "iteration_#/rank#_memory_snapshot.pickle"}, // torchtitan to 2025
		{"iteration_10_exit/rank3_memory_snapshot.pickle", 3, 10, true, "iteration_#/rank#_memory_snapshot.pickle"},
		{"step_000000000010/000003_step_10.pickle", 3, 10, false, "step_#/#_step_#.pickle"},    // torchtitan
		{"rank3.120.memory_snapshot.pickle", 3, 120, false, "/rank#.#.memory_snapshot.pickle"}, // Composer
		{"rank3_oom_snapshot.pickle", 3, -1, true, "/rank#_snapshot.pickle"},
		{"mem_snapshots/20260131-1200/actor_rank12_pid4711.pickle", 12, -1, false, "mem_snapshots/#/actor_rank#_pid#.pickle"}, // verl
		{"snapshot_oom_rank_3.pickle", 3, -1, true, "/snapshot_rank_#.pickle"},                                                // Megatron-LM
		{"oom_rank3.pickle", 3, -1, true, "/rank#.pickle"},                                                                    // lmms-engine
		{"memory_snapshot-rank3.pickle.gz", 3, -1, false, "/memory_snapshot-rank#.pickle.gz"},
		{"memory_snapshot_rank0_step6.pkl", 0, 6, false, "/memory_snapshot_rank#_step#.pkl"},
		{"prof_memsnap_r7.pkl", 7, -1, false, "/prof_memsnap_r#.pkl"},
		{"rank3/snapshot.pickle", 3, -1, false, "rank#/snapshot.pickle"},
		{"rank3/rank3_snapshot.pickle", 3, -1, false, "rank#/rank#_snapshot.pickle"},
		{"a/global_rank=0003/epoch_2_step_40.pickle", 3, 40, false, "a/global_rank=#/epoch_#_step_#.pickle"},
		{"node_rank_1_local_rank_2_rank_10.pickle", 10, -1, false, "/node_rank_1_local_rank_2_rank_#.pickle"},
		{"local_rank2.pickle", 2, -1, false, "/local_rank#.pickle"},
		{"gpu1_snapshot.pickle", 1, -1, false, "/gpu#_snapshot.pickle"},
		{"host7_Jan_31_12_00_00.pickle", -1, -1, false, "/host7_#.pickle"},
		{"trace_rank5_1754338790131393427.pickle", 5, -1, false, "/trace_rank#_#.pickle"},
		{`C:\runs\iteration_2\RANK1.pickle`, 1, 2, false, "C:/runs/iteration_#/RANK#.pickle"},
		{"crank5.pickle", -1, -1, false, "/crank5.pickle"}, // no rank within a word
		{"tp_rank0_pp_rank1_rank6.pickle", 6, -1, false, "/tp_rank0_pp_rank1_rank#.pickle"},
		{"rank99999999999.pickle", -1, -1, false, "/rank#.pickle"},
	}
	for _, tt := range tests {
		n := parseName(tt.path)
		if n.rank != tt.rank || n.step != tt.step || n.exit != tt.exit || n.job != tt.job {
			t.Errorf("%s: rank %d, step %d, exit %v, job %s", tt.path, n.rank, n.step, n.exit, n.job)
		}
	}
}

func infos(paths ...string) []FileInfo {
	var files []FileInfo
	for i, p := range paths {
		files = append(files, FileInfo{Path: p, ModTime: time.Unix(int64(i), 0)})
	}
	return files
}

// show writes sets in a form that a table can hold: "rank:path …".
func show(s Set) string {
	var b strings.Builder
	for i, f := range s.Files {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%d:%s", f.Rank, f.Path)
	}
	return b.String()
}

// groupTests are folders' files: how many sets they make, and what is in the best.
var groupTests = []struct {
	name  string
	paths []string
	best  string
	notes []string
	sets  int
}{
	{"one", []string{"a.pickle"}, "-1:a.pickle", nil, 1},
	{
		"ranks out of order",
		[]string{"s_rank10.pickle", "s_rank9.pickle", "s_rank2.pickle"},
		"2:s_rank2.pickle 9:s_rank9.pickle 10:s_rank10.pickle",
		[]string{"no file for rank 0, 1, 3, 4, 5, 6, 7, 8"},
		1,
	},
	{"last number without gaps", []string{"s_1.pickle", "s_0.pickle"}, "0:s_0.pickle 1:s_1.pickle", []string{"the last number of each name is taken for its rank"}, 1},
	{"last number with gaps is a step", []string{"s_100.pickle", "s_200.pickle"}, "-1:s_200.pickle", []string{"1 file of the same job at 1 other step is left out"}, 2},
	{"last number alone", []string{"s_3.pickle"}, "-1:s_3.pickle", nil, 1},
	{
		"the last step",
		[]string{"iteration_10/rank0_m.pickle", "iteration_10/rank1_m.pickle", "iteration_20/rank0_m.pickle", "iteration_20/rank1_m.pickle"},
		"0:iteration_20/rank0_m.pickle 1:iteration_20/rank1_m.pickle",
		[]string{"2 files of the same job at 1 other step are left out"},
		2,
	},
	{
		"the last step that has all ranks",
		[]string{"iteration_10/rank0_m.pickle", "iteration_10/rank1_m.pickle", "iteration_20/rank0_m.pickle"},
		"0:iteration_10/rank0_m.pickle 1:iteration_10/rank1_m.pickle",
		[]string{"1 file of the same job at 1 other step is left out"},
		2,
	},
	{
		"a death before any step",
		[]string{"iteration_30/rank0_m.pickle", "iteration_30/rank1_m.pickle", "iteration_12_exit/rank1_m.pickle"},
		"1:iteration_12_exit/rank1_m.pickle",
		[]string{"2 files of the same job at 1 other step are left out", "no file for rank 0"},
		2,
	},
	{
		"the newest of each rank",
		[]string{"20260131-1200/a_rank0_pid1.pickle", "20260131-1201/a_rank1_pid2.pickle", "20260130-0900/a_rank0_pid9.pickle"},
		"0:20260131-1200/a_rank0_pid1.pickle 1:20260131-1201/a_rank1_pid2.pickle",
		[]string{"1 file of the same ranks is older and left out"},
		1,
	},
	{"two jobs", []string{"a_rank0.pickle", "b_rank0.pickle", "b_rank1.pickle"}, "0:b_rank0.pickle 1:b_rank1.pickle", nil, 2},
	{"no ranks, no numbers", []string{"before.pickle", "after.pickle"}, "-1:after.pickle", nil, 2},
}

func TestGroupFiles(t *testing.T) {
	for _, tt := range groupTests {
		t.Run(tt.name, func(t *testing.T) {
			files := infos(tt.paths...)
			sets := GroupFiles(files)
			if len(sets) != tt.sets || show(sets[0]) != tt.best {
				t.Errorf("%d sets, best %s; want %d, %s", len(sets), show(sets[0]), tt.sets, tt.best)
			}
			if diff := cmp.Diff(tt.notes, sets[0].Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			slices.Reverse(files)
			if again := GroupFiles(files); show(again[0]) != tt.best {
				t.Errorf("in another order the best is %s", show(again[0]))
			}
		})
	}
}

func TestRanksOf(t *testing.T) {
	got := RanksOf([]string{`C:\a\s_1.pickle`, `C:\a\s_0.pickle`, "x.pickle", "y-rank7.pickle"})
	if want := []int{1, 0, -1, 7}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFindFiles(t *testing.T) {
	recording := &fstest.MapFile{Data: []byte(recording4)}
	fsys := fstest.MapFS{
		"job/rank0.pickle":        recording,
		"job/rank1.pickle.gz":     {Data: packers["gzip"](t, []byte(recording4))},
		"job/deep/er/rank2.html":  {Data: []byte(pageOf(fakePickle(100), ""))},
		"job/dump.json":           {Data: []byte(`{"segments": []}`)},
		"job/model.pt":            {Data: []byte(torchZipHead)},
		"job/train.log":           {Data: []byte("step 1\nCUDA out of memory.\n")},
		"job/err.log":             {Data: []byte("step 1\nCUDA out of memory.\n")},
		"job/.rank9.pickle":       recording,
		"job/.cache/rank8.pickle": recording,
		"job/cut.gz":              {Data: []byte("\x1f\x8b\x08\x00")},
		"logs/train.log":          {Data: []byte("step 1\n")},
		"logs/events":             {Data: []byte("\x01\x00\x02\xff\xfe\x00")},
		"nothing/.hidden":         recording,
		"other/rank0.pickle":      recording,
	}
	found, err := FindFiles(fsys, "job")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range found.Files {
		paths = append(paths, f.Path)
	}
	want := []string{"job/deep/er/rank2.html", "job/dump.json", "job/rank0.pickle", "job/rank1.pickle.gz"}
	if !slices.Equal(paths, want) {
		t.Errorf("found %q, want %q", paths, want)
	}
	note := SkippedNote(found.Skipped)
	for _, part := range []string{`"err.log" is text, and so is 1 other`, `"model.pt" is a PyTorch checkpoint`, "gzip data breaks off"} {
		if !strings.Contains(note, part) {
			t.Errorf("note %q lacks %q", note, part)
		}
	}
	for _, dir := range []string{"logs", "nothing"} {
		var none *NoRecordingsError
		if _, err := FindFiles(fsys, dir); !errors.As(err, &none) || !strings.HasPrefix(err.Error(), dir+": no recordings") {
			t.Errorf("%s: error %v", dir, err)
		}
	}
	if _, err := FindFiles(fsys, "absent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent folder: error %v", err)
	}
}

// TestFindFilesBeside: what else a job leaves in the forms that recordings come in. Where
// there are recordings it is passed over; alone, what may be one is left to the reader.
func TestFindFilesBeside(t *testing.T) {
	long := strings.Repeat(`"epoch": 1, "loss": 0.5, `, sniffBytes/20)
	stray := fstest.MapFS{
		"job/config.json":        {Data: []byte(`{"hidden_size": 768}`)},
		"job/list.json":          {Data: []byte(`[{"name": "a"}, {"name": "b"}]`)},
		"job/empty.json":         {Data: []byte(`{}`)},
		"job/trainer_state.json": {Data: []byte("{" + long + `"best": null}`)},
		"job/report.html":        {Data: []byte("<!DOCTYPE html>\n<html><body>loss</body></html>")},
		"job/plots.html":         {Data: []byte("<!DOCTYPE html>\n<html><body>" + strings.Repeat("<p>loss</p>", sniffBytes/8))},
		"job/data.pkl":           {Data: append([]byte("\x80\x04]q\x00("), bytes.Repeat([]byte("K\x01"), sniffBytes)...)},
	}
	unsure := []string{"job/data.pkl", "job/plots.html", "job/trainer_state.json"}
	for name, tt := range map[string]struct {
		add  map[string]string
		want []string
	}{
		"alone":                       {nil, unsure},
		"beside a pickle":             {map[string]string{"job/rank0.pickle": recording4}, []string{"job/rank0.pickle"}},
		"beside JSON":                 {map[string]string{"job/rank0.json": `{"segments": []}`}, []string{"job/rank0.json"}},
		"beside JSON within another":  {map[string]string{"job/rank0.json": `{"run": 7, "snapshot": {"device_traces": [[]]}}`}, []string{"job/rank0.json"}},
		"beside a page":               {map[string]string{"job/rank0.html": pageOf(fakePickle(100), "")}, []string{"job/rank0.html"}},
		"beside a pickle that is cut": {map[string]string{"job/rank0.pickle": recording4[:len(recording4)-9]}, []string{"job/rank0.pickle"}},
	} {
		fsys := fstest.MapFS{}
		maps.Copy(fsys, stray)
		for path, text := range tt.add {
			fsys[path] = &fstest.MapFile{Data: []byte(text)}
		}
		found, err := FindFiles(fsys, "job")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var paths []string
		for _, f := range found.Files {
			paths = append(paths, f.Path)
		}
		if !slices.Equal(paths, tt.want) || len(found.Files)+len(found.Skipped) != len(fsys) {
			t.Errorf("%s: found %q, want %q; skipped %+v", name, paths, tt.want, found.Skipped)
		}
		if note := SkippedNote(found.Skipped); !strings.Contains(note, `"config.json" is JSON with the keys "hidden_size"`) {
			t.Errorf("%s: note %q", name, note)
		}
	}
}

// TestFindFilesLimits: a folder that is not a job's, such as a home directory.
func TestFindFilesLimits(t *testing.T) {
	deep := fstest.MapFS{"job/rank0.pickle": {Data: []byte(recording4)}}
	deep["job/"+strings.Repeat("d/", maxFolderDepth-1)+"in.pickle"] = &fstest.MapFile{Data: []byte(recording4)}
	deep["job/"+strings.Repeat("d/", maxFolderDepth)+"out.pickle"] = &fstest.MapFile{Data: []byte(recording4)}
	found, err := FindFiles(deep, "job")
	if err != nil || len(found.Files) != 2 {
		t.Errorf("%d folders deep: found %+v, %v", maxFolderDepth, found, err)
	}
	many := fstest.MapFS{}
	for i := range maxFolderFiles + 1 {
		many[fmt.Sprintf("home/%d", i)] = &fstest.MapFile{}
	}
	var large *TooLargeError
	if _, err := FindFiles(many, "home"); !errors.As(err, &large) || large.Hint() == "" {
		t.Errorf("%d files: %v", len(many), err)
	}
}

// lockedFS has a folder that may not be read.
type lockedFS struct{ fstest.MapFS }

func (l lockedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "job/locked" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return l.MapFS.ReadDir(name)
}

func TestFindFilesLocked(t *testing.T) {
	fsys := lockedFS{fstest.MapFS{"job/locked/a.pickle": {}, "job/rank0.pickle": {Data: []byte(recording4)}}}
	found, err := FindFiles(fsys, "job")
	if err != nil || len(found.Files) != 1 || SkippedNote(found.Skipped) != `"locked" is not readable` {
		t.Errorf("found %+v, %v", found, err)
	}
}

// TestSkippedNoteOfErrors: why a file was passed over, in words that follow its name.
func TestSkippedNoteOfErrors(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "stat", Path: "job/a.pickle", Err: fs.ErrNotExist}, `"a.pickle" is a link to nothing, or gone by now`},
		{&fs.PathError{Op: "open", Path: "job/a.pickle", Err: fs.ErrPermission}, `"a.pickle" is not readable`},
		{&fs.PathError{Op: "read", Path: "job/a.pickle", Err: errors.New("input/output error")}, `"a.pickle" is not readable: input/output error`},
	} {
		if got := SkippedNote([]Skipped{{Path: "job/a.pickle", Err: tt.err}}); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}
