// The phases of go-ycsb against Redis, as its own command has them: without the databases that need
// libraries of their own, and without its status lines.
//
//	go-ycsb load|run NAME=VALUE…
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/magiconair/properties"
	_ "github.com/pingcap/go-ycsb/db/redis"
	"github.com/pingcap/go-ycsb/pkg/client"
	"github.com/pingcap/go-ycsb/pkg/measurement"
	"github.com/pingcap/go-ycsb/pkg/prop"
	_ "github.com/pingcap/go-ycsb/pkg/workload"
	"github.com/pingcap/go-ycsb/pkg/ycsb"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(phase string, given []string) error {
	p := properties.NewProperties()
	for _, one := range given {
		name, value, found := strings.Cut(one, "=")
		if !found {
			return fmt.Errorf("`%s` is not NAME=VALUE", one)
		}
		p.Set(name, value)
	}
	p.Set(prop.DoTransactions, fmt.Sprint(phase == "run"))
	p.Set(prop.Command, phase)
	p.Set(prop.TableName, p.GetString(prop.TableName, prop.TableNameDefault))
	measurement.InitMeasure(p)
	workload, err := ycsb.GetWorkloadCreator("core").Create(p)
	if err != nil {
		return err
	}
	db, err := ycsb.GetDBCreator("redis").Create(p)
	if err != nil {
		return err
	}
	client.NewClient(p, workload, client.DbWrapper{DB: db}).Run(context.Background())
	measurement.Output()
	if err := workload.Close(); err != nil {
		return err
	}
	return db.Close()
}
