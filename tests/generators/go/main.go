// The scenario with the client that openapi-generator makes for Go.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	"generated"
)

func about(name string) string {
	return os.Getenv("SCENARIO_" + name)
}

func number(name string) int {
	value, err := strconv.Atoi(about(name))
	check(err)
	return value
}

func check(err error) {
	if err == nil {
		return
	}
	if refused, ok := err.(*generated.GenericOpenAPIError); ok {
		log.Fatalf("%s: %s", refused.Error(), refused.Body())
	}
	log.Fatal(err)
}

// until asks again: what is derived comes a moment after the sync that it is made of.
func until(isThere func() bool) {
	for tries := 0; tries < 100; tries++ {
		if isThere() {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	log.Fatal("what was waited for did not come")
}

func main() {
	configuration := generated.NewConfiguration()
	configuration.Servers = generated.ServerConfigurations{{URL: about("URL")}}
	client := generated.NewAPIClient(configuration)
	anyone := context.Background()
	login := *generated.NewLoginRequest(about("PASSWORD"))
	login.SetEmail(about("EMAIL"))
	users, _, err := client.LoginsAPI.UsersPostLogin(anyone).LoginRequest(login).Execute()
	check(err)
	exchange := *generated.NewTokenExchange(users.GetToken())
	health, _, err := client.LoginsAPI.HealthPostLogin(anyone).TokenExchange(exchange).Execute()
	check(err)
	patient := context.WithValue(anyone, generated.ContextAccessToken, health.GetToken())
	keys := map[string]generated.APIKey{"api_key_header": {Key: about("KEY")}}
	researcher := context.WithValue(anyone, generated.ContextAPIKeys, keys)

	begin, minutes := number("BEGIN_MS"), number("MINUTES")
	var times, rates []int
	for minute := 0; minute < minutes; minute++ {
		times = append(times, begin+minute*60000)
		rates = append(rates, 60+minute)
	}
	columns := map[string]any{"timestamp": times, "bpm": rates, "wearing": 4}
	text, err := json.Marshal(map[string]any{"data": map[string]any{"activity": columns}})
	check(err)
	var sync generated.Sync
	check(json.Unmarshal(text, &sync))
	receipt, _, err := client.SyncAPI.HealthPostSync(patient).Sync(sync).Execute()
	check(err)
	activity := receipt.GetTypes()["activity"]

	var latest float64
	until(func() bool {
		list := client.PatientsAPI.IntegrationGetGroupsGroupCodePatients(researcher, about("GROUP"))
		rows, _, err := list.WithLatestValues("1").Execute()
		check(err)
		for _, row := range rows {
			if row.GetUuid() == about("UUID") {
				values := row.GetLatestValues()
				latest = values.GetHeartRate()
			}
		}
		return latest > 0
	})

	slots := 0
	until(func() bool {
		read := client.SummariesAPI.IntegrationGetPatientsUuidSummaryDate(researcher, about("UUID"), about("DATE"))
		day, _, err := read.IncludeSlots("1").Execute()
		check(err)
		slots = 0
		section := day.GetHeartRate()
		for _, slot := range section.GetSlots() {
			if slot.Bpm.IsSet() && slot.Bpm.Get() != nil {
				slots++
			}
		}
		return slots == minutes/5
	})

	raw := client.RawMetricsAPI.HealthGetRawMetricsRawMetricType(patient, "activity")
	raw = raw.FromDate(time.UnixMilli(int64(begin)).UTC()).ToDate(time.UnixMilli(int64(times[minutes-1])).UTC())
	rows, _, err := raw.Execute()
	check(err)
	for minute, row := range rows {
		if row.ActivityRow == nil || row.ActivityRow.GetBpm() != int32(rates[minute]) {
			text, _ := json.Marshal(row)
			log.Fatalf("row %d: %s", minute, text)
		}
	}

	order := *generated.NewExportRequest(about("DATE")+"T00:00:00", about("DATE")+"T23:59:59")
	order.SetTypes([]string{"activity"})
	begun, _, err := client.ExportsAPI.IntegrationPostCreateExportUuid(researcher, about("UUID")).ExportRequest(order).Execute()
	check(err)
	address := ""
	until(func() bool {
		export, _, err := client.ExportsAPI.IntegrationGetExportExportId(researcher, begun.GetId()).Execute()
		check(err)
		address = export.GetDownloadUrl()
		return address != ""
	})
	answer, err := http.Get(address)
	check(err)
	first := make([]byte, 2)
	_, err = io.ReadFull(answer.Body, first)
	check(err)
	fmt.Printf("stored %d latest %.0f slots %d rows %d archive %s\n", activity.GetStored(), latest, slots, len(rows), first)
}
