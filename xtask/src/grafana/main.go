// The dashboard of a run, made and checked by Grafana's foundation SDK:
// `cargo xtask grafana` calls it.
//
//	dashboard          prints the dashboard
//	dashboard check    checks the one on standard input
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/gauge"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

func main() {
	runtime := cog.NewRuntime()
	runtime.RegisterPanelcfgVariant(gauge.VariantConfig())
	runtime.RegisterPanelcfgVariant(stat.VariantConfig())
	runtime.RegisterPanelcfgVariant(statetimeline.VariantConfig())
	runtime.RegisterPanelcfgVariant(timeseries.VariantConfig())
	runtime.RegisterDataqueryVariant(prometheus.VariantConfig())

	var err error
	switch words := os.Args[1:]; {
	case len(words) == 0:
		err = print()
	case len(words) == 1 && words[0] == "check":
		var text []byte
		if text, err = io.ReadAll(os.Stdin); err == nil {
			err = check(text)
		}
	default:
		err = fmt.Errorf("usage: dashboard [check]")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// print checks what it prints: the builders alone refuse little.
func print() error {
	built, err := made().Build()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(built, "", "  ")
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	return check(text)
}

// check refuses unknown, missing and mistyped fields, and values out of range.
func check(text []byte) error {
	var read dashboard.Dashboard
	err := read.UnmarshalJSONStrict(text)
	// Where nothing is wrong, this returns an empty list, which is not nil.
	var wrong cog.BuildErrors
	if err != nil && (!errors.As(err, &wrong) || len(wrong) != 0) {
		return err
	}
	return read.Validate()
}

var source = common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}

func made() *dashboard.DashboardBuilder {
	return dashboard.NewDashboardBuilder("Benchwright").
		Uid("benchwright").
		Description("A run of benchwright with --metrics, while it lasts.").
		Tags([]string{"benchwright"}).
		Timezone("browser").
		Time("now-15m", "now").
		Refresh("5s").
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").
			Label("Prometheus").Type("prometheus")).
		WithVariable(values("instance", "Run", "label_values(benchwright_trial, instance)")).
		WithVariable(values("namespace", "Namespace",
			"label_values(container_cpu_usage_seconds_total, namespace)")).
		WithRow(dashboard.NewRowBuilder("Now")).
		WithPanel(number("Doing", 10, "none",
			"The experiment, its stage, and the level and the search of the trial.",
			query(`benchwright_now{instance=~"$instance"}`,
				"{{experiment}} · {{stage}} · {{level}} · {{search}}")).
			TextMode(common.BigValueTextModeName)).
		WithPanel(number("Trial", 3, "none", "The number of the trial; 0 between two trials.",
			query(`benchwright_trial{instance=~"$instance"}`, "trial"))).
		WithPanel(progress()).
		WithPanel(number("Trials", 5, "none",
			"Done, usually still needed, and possible beyond that.",
			query(`benchwright_plan_trials{instance=~"$instance"}`, "{{part}}"))).
		WithPanel(number("Still needs", 3, "s", "The usual time of the trials that are needed.",
			query(`benchwright_needed_seconds{instance=~"$instance"}`, "time"))).
		WithRow(dashboard.NewRowBuilder("Load")).
		WithPanel(lines("Requests", "reqps",
			"Asked for, offered, completed and failed; each of the last second. A run that falls "+
				"behind completes less than it was offered.",
			query(`benchwright_asked_requests_per_second{instance=~"$instance"}`, "asked"),
			query(`benchwright_offered_requests_per_second{instance=~"$instance"}`, "offered"),
			query(`benchwright_completed_requests_per_second{instance=~"$instance"}`, "completed"),
			query(`sum(rate(benchwright_failed_requests_total{instance=~"$instance"}`+
				`[$__rate_interval]))`, "failed"))).
		WithPanel(lines("Response time", "s",
			"The quantiles of the last second, from the intended start of each request.",
			query(`benchwright_response_time_seconds{instance=~"$instance"}`, "{{quantile}}")).
			ScaleDistribution(logarithmic())).
		WithPanel(lines("Lateness", "s",
			"The p99 of the generator's own lateness: the part of the response times that is not "+
				"the system's.",
			query(`benchwright_lateness_p99_seconds{instance=~"$instance"}`, "p99"))).
		WithPanel(lines("Waiting", "none",
			"The most requests without a response in the last second.",
			query(`benchwright_outstanding_requests{instance=~"$instance"}`, "outstanding"))).
		WithPanel(lines("Failures", "reqps", "The failed requests by outcome.",
			query(`sum by (outcome) (rate(benchwright_failed_requests_total{instance=~"$instance"}`+
				`[$__rate_interval]))`, "{{outcome}}"))).
		WithPanel(lines("Trials that ended", "none", "All attempts by status.",
			query(`benchwright_trials_total{instance=~"$instance"}`, "{{status}}")).
			LineInterpolation(common.LineInterpolationStepAfter)).
		WithRow(dashboard.NewRowBuilder("Plan")).
		WithPanel(stretches("Level and search", "Which level and search each trial was of.",
			query(`max by (experiment, level, search) (benchwright_now{instance=~"$instance"})`,
				"{{experiment}} {{level}} {{search}}"))).
		WithPanel(stretches("Stage", "What the run did beside measuring.",
			query(`max by (stage) (benchwright_now{instance=~"$instance"})`, "{{stage}}"))).
		WithRow(dashboard.NewRowBuilder("System under test")).
		WithPanel(cpu())
}

// cpu is the panel of guide 4, with a unit, and without what its query counts twice.
func cpu() *timeseries.PanelBuilder {
	const counter = `container_cpu_usage_seconds_total{namespace=~"$namespace"`
	return lines("CPU by namespace", "none",
		"CPUs used, over a minute. A pod's own group counts what its containers use once more, and "+
			`has no container in its labels: hence container!="". The hidden query is without it, as `+
			"a dashboard is often seen. Without a cluster this panel is empty.",
		query(`sum by (namespace) (rate(`+counter+`, container!=""}[1m]))`, "{{namespace}}"),
		query(`sum by (namespace) (rate(`+counter+`}[1m]))`, "{{namespace}}, counted twice").
			Hide(true)).
		AxisLabel("CPUs").Span(24)
}

func progress() *gauge.PanelBuilder {
	const plan = `sum(benchwright_plan_trials{instance=~"$instance", part=~"`
	share := query(plan+`done"}) / `+plan+`done|needed"})`, "done").Instant().RefId("A")
	return gauge.NewPanelBuilder().
		Title("Plan").
		Description("The trials that are done, of those that are usually needed.").
		Datasource(source).Height(4).Span(3).
		Unit("percentunit").Min(0).Max(1).
		WithTarget(share)
}

func number(
	title string, width uint32, unit string, about string, queries ...*prometheus.DataqueryBuilder,
) *stat.PanelBuilder {
	panel := stat.NewPanelBuilder().
		Title(title).Description(about).Datasource(source).Height(4).Span(width).Unit(unit).
		GraphMode(common.BigValueGraphModeNone)
	for _, query := range queries {
		// Of a range, series that have ended would be shown too.
		query.Instant()
	}
	return targets(panel, queries)
}

func lines(
	title string, unit string, about string, queries ...*prometheus.DataqueryBuilder,
) *timeseries.PanelBuilder {
	panel := timeseries.NewPanelBuilder().
		Title(title).Description(about).Datasource(source).Height(8).Span(12).Unit(unit).
		AxisSoftMin(0).LineWidth(1).FillOpacity(0).
		ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().
			ShowLegend(true).
			DisplayMode(common.LegendDisplayModeList).
			Placement(common.LegendPlacementBottom)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti))
	return targets(panel, queries)
}

func stretches(
	title string, about string, queries ...*prometheus.DataqueryBuilder,
) *statetimeline.PanelBuilder {
	panel := statetimeline.NewPanelBuilder().
		Title(title).Description(about).Datasource(source).Height(8).Span(12).
		ShowValue(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(false))
	return targets(panel, queries)
}

// targets adds the queries as A, B and so on.
func targets[P interface {
	WithTarget(cog.Builder[variants.Dataquery]) P
}](panel P, queries []*prometheus.DataqueryBuilder) P {
	for i, query := range queries {
		panel.WithTarget(query.RefId(string(rune('A' + i))))
	}
	return panel
}

func query(expression string, legend string) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().
		Expr(expression).LegendFormat(legend).Datasource(source).Range()
}

func values(name string, label string, query string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).
		Label(label).
		Datasource(source).
		Query(dashboard.StringOrMap{String: cog.ToPtr(query)}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortAlphabeticalAsc).
		Multi(true).IncludeAll(true).AllValue(".+").
		Current(dashboard.VariableOption{
			Text:  dashboard.StringOrArrayOfString{String: cog.ToPtr("All")},
			Value: dashboard.StringOrArrayOfString{String: cog.ToPtr("$__all")},
		})
}

func logarithmic() *common.ScaleDistributionConfigBuilder {
	return common.NewScaleDistributionConfigBuilder().
		Type(common.ScaleDistributionLog).Log(10)
}
