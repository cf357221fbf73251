// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { executorLines, LANGUAGES, sampleJob, TOKEN } from './first-steps'

test('each language has the address with its context, the app name and a place for the token', () => {
  for (const language of LANGUAGES) {
    const lines = executorLines(language, 'http://10.0.0.5:8080/xxl-job-admin', 'orders')
    expect(lines).toContain('http://10.0.0.5:8080/xxl-job-admin')
    expect(lines).toContain('orders')
    expect(lines).toContain(TOKEN)
  }
  expect(executorLines('python', 'http://h:1', 'x')).toContain('"http://h:1/api/"')
})

test('the sample job names a handler, also where it brings a script', () => {
  expect(sampleJob(1, 'sample', 'ann', true)).toMatchObject({ glueType: 'GLUE_SHELL', executorHandler: 'demoJobHandler' })
  expect(sampleJob(1, 'sample', 'ann', false).glueSource).toBeUndefined()
})
