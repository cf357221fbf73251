// SPDX-License-Identifier: MIT

// A tiny executor on xxl-job-executor-go, for tests. It is started as
//
//	test-executor ADMIN APPNAME PORT TOKEN
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	xxl "github.com/xxl-job/xxl-job-executor-go"
)

// The library has one state for each handler, not for each run, so tests that run side by side need names of their own.
var suffixes = []string{"", ".timeout", ".kill", ".serial", ".discard", ".cover", ".broadcast"}

var (
	lock sync.Mutex
	logs = map[int64][]string{}
)

func demo(_ context.Context, run *xxl.RunReq) string {
	return fmt.Sprintf("param=%s shard=%d/%d", run.ExecutorParams, run.BroadcastIndex, run.BroadcastTotal)
}

func failing(context.Context, *xxl.RunReq) string {
	panic("failing on purpose <&> \U0001F600")
}

func sleeping(ctx context.Context, run *xxl.RunReq) string {
	millis, _ := strconv.Atoi(run.ExecutorParams)
	select {
	case <-ctx.Done():
		return "ended early: " + ctx.Err().Error()
	case <-time.After(time.Duration(millis) * time.Millisecond):
		return fmt.Sprintf("slept %d ms", millis)
	}
}

func logging(_ context.Context, run *xxl.RunReq) string {
	count, _ := strconv.Atoi(run.ExecutorParams)
	lock.Lock()
	defer lock.Unlock()
	for i := 1; i <= count; i++ {
		logs[run.LogID] = append(logs[run.LogID], fmt.Sprintf("line %d <&> \U0001F600\n", i))
	}
	return ""
}

// The library keeps no logs: an application that wants them seen answers for them.
func readLog(req *xxl.LogReq) *xxl.LogRes {
	lock.Lock()
	defer lock.Unlock()
	lines := logs[req.LogID]
	page := xxl.LogResContent{FromLineNum: req.FromLineNum, ToLineNum: len(lines), IsEnd: true}
	if req.FromLineNum >= 1 && req.FromLineNum <= len(lines) {
		page.LogContent = strings.Join(lines[req.FromLineNum-1:], "")
	}
	return &xxl.LogRes{Code: xxl.SuccessCode, Content: page}
}

func main() {
	executor := xxl.NewExecutor(
		xxl.ServerAddr(os.Args[1]), xxl.RegistryKey(os.Args[2]), xxl.ExecutorIp("127.0.0.1"),
		xxl.ExecutorPort(os.Args[3]), xxl.AccessToken(os.Args[4]))
	executor.Init()
	executor.LogHandler(readLog)
	for _, suffix := range suffixes {
		executor.RegTask("demoJobHandler"+suffix, demo)
		executor.RegTask("sleepingJobHandler"+suffix, sleeping)
	}
	executor.RegTask("failingJobHandler", failing)
	executor.RegTask("loggingJobHandler", logging)
	if err := executor.Run(); err != nil {
		panic(err)
	}
}
