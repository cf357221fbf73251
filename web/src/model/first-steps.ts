// SPDX-License-Identifier: MIT
/** first-steps: lines to copy that make an executor report to this node, and the sample job. Pure. */
import type { paths } from '@/api/schema'

export const LANGUAGES = ['java', 'go', 'python'] as const
export type ExecutorLanguage = (typeof LANGUAGES)[number]

/** A handler of this name is in the samples of the original, and in the lines below. */
export const SAMPLE_HANDLER = 'demoJobHandler'
/** Stands where the token belongs: that is a secret, which the console does not know. */
export const TOKEN = '<token>'

/** `address`: of this node with its context path, without a slash at its end. */
export function executorLines(language: ExecutorLanguage, address: string, appname: string): string {
  switch (language) {
    case 'java':
      return `# application.properties
xxl.job.admin.addresses=${address}
# up to xxl-job 3.0: xxl.job.accessToken
xxl.job.admin.accessToken=${TOKEN}
xxl.job.executor.appname=${appname}
xxl.job.executor.port=9999
xxl.job.executor.logpath=/tmp/xxl-job/jobhandler`
    case 'go':
      return `// go get github.com/xxl-job/xxl-job-executor-go
package main

import (
	"context"
	"log"

	xxl "github.com/xxl-job/xxl-job-executor-go"
)

func main() {
	executor := xxl.NewExecutor(
		xxl.ServerAddr("${address}"),
		xxl.AccessToken("${TOKEN}"),
		xxl.RegistryKey("${appname}"),
		xxl.ExecutorPort("9999"))
	executor.Init()
	executor.RegTask("${SAMPLE_HANDLER}", func(ctx context.Context, run *xxl.RunReq) string {
		return "hello " + run.ExecutorParams
	})
	log.Fatal(executor.Run())
}`
    case 'python':
      return `# pip install pyxxl
from pyxxl import ExecutorConfig, PyxxlRunner

app = PyxxlRunner(ExecutorConfig(
    xxl_admin_baseurl="${address}/api/",
    executor_app_name="${appname}",
    access_token="${TOKEN}",
    executor_listen_port=9999,
))


@app.register(name="${SAMPLE_HANDLER}")
async def demo():
    return "hello"


app.run_executor()`
  }
}

type NewJob = paths['/api/v1/jobs']['post']['requestBody']['content']['application/json']

/**
 * A job that any executor can run: Java ones run the script; those of Go and Python pass it by and run the handler.
 * Without GLUE, where the server forbids it, it is the handler alone.
 */
export function sampleJob(jobGroup: number, name: string, author: string, glue: boolean): NewJob {
  const job: NewJob = {
    jobGroup,
    name,
    author,
    scheduleType: 'CRON',
    scheduleConf: '0/30 * * * * ?',
    executorHandler: SAMPLE_HANDLER,
    executorParam: 'world',
  }
  if (!glue) return job
  const glueSource = '#!/bin/bash\necho "hello $1, this is job $0"\ndate\nfor i in 1 2 3; do echo "step $i of 3"; sleep 1; done\n'
  return { ...job, glueType: 'GLUE_SHELL', glueSource, glueRemark: 'sample' }
}
