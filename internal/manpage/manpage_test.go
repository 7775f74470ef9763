package manpage

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// TestWrite shows every part of a page at once.
func TestWrite(t *testing.T) {
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "tank", Short: "Measure tanks", Run: run}
	root.PersistentFlags().String("unit", "litre", "print amounts in `name`s")
	fill := &cobra.Command{
		Use:     "fill FILE",
		Short:   "Fill a tank",
		Long:    "Fill fills a tank from C:\\taps.\n\n  tank fill - < water\n.so evil",
		Example: "  tank fill a.tank",
		Run:     run,
	}
	fill.Flags().BoolP("slow", "s", false, "take time")
	fill.Flags().Bool("secret", false, "")
	fill.Flags().Lookup("secret").Hidden = true
	drain := &cobra.Command{Use: "drain", Short: "Drain a tank", Run: run}
	root.AddCommand(fill, drain, &cobra.Command{Use: "gone", Hidden: true, Run: run})

	got := map[string]string{}
	for _, c := range []*cobra.Command{root, fill} {
		var b strings.Builder
		if err := Write(&b, c, Section{"EXIT STATUS", "  0  full"}); err != nil {
			t.Fatal(err)
		}
		got[Name(c)] = b.String()
	}
	want := map[string]string{
		"tank": `.TH TANK 1 "" ullage "Ullage manual"
.SH NAME
tank \- measure tanks
.SH SYNOPSIS
.B tank command
.SH DESCRIPTION
Measure tanks.
.SH COMMANDS
.TP
.BR tank\-drain (1)
Drain a tank
.TP
.BR tank\-fill (1)
Fill a tank
.SH OPTIONS
.TP
\fB\-\-unit\fR \fIname\fR
print amounts in names (default litre)
.SH EXIT STATUS
.nf
  0  full
.fi
.SH SEE ALSO
.BR tank\-drain (1),
.BR tank\-fill (1)
`,
		"tank-fill": `.TH TANK\-FILL 1 "" ullage "Ullage manual"
.SH NAME
tank\-fill \- fill a tank
.SH SYNOPSIS
.B tank fill FILE [flags]
.SH DESCRIPTION
Fill fills a tank from C:\etaps.
.PP
  tank fill \- < water
\&.so evil
.SH EXAMPLES
.nf
  tank fill a.tank
.fi
.SH OPTIONS
.TP
\fB\-s, \-\-slow\fR
take time
.SH GLOBAL OPTIONS
.TP
\fB\-\-unit\fR \fIname\fR
print amounts in names (default litre)
.SH EXIT STATUS
.nf
  0  full
.fi
.SH SEE ALSO
.BR tank (1),
.BR tank\-drain (1)
`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}
