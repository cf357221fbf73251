// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { changeOf } from './batch-edit'

test('only what was chosen is changed, each where it belongs', () => {
  const values = { executorTimeout: '60', author: 'ann', tags: ' night, sync，night ', retentionDays: '', jobGroup: '3' }
  expect(changeOf(['executorTimeout', 'tags', 'retentionDays', 'jobGroup'], values)).toEqual({
    change: { edit: { executorTimeout: 60, jobGroup: 3, settings: { tags: ['night', 'sync'], retentionDays: null } } },
    faults: [],
  })
})

test('what cannot be is told by its field', () => {
  const values = { executorTimeout: '1.5', author: ' ', jobGroup: '', retentionDays: '0', executorRouteStrategy: 'NOWHERE' }
  const made = changeOf(Object.keys(values), values)
  expect(made.faults.sort()).toEqual(['author', 'executorRouteStrategy', 'executorTimeout', 'jobGroup', 'retentionDays'])
})

test('an empty address of alarms takes it away', () => {
  expect(changeOf(['alarmEmail'], { alarmEmail: '' }).change).toEqual({ edit: { alarmEmail: '' } })
})

test('tags are added and removed beside other changes, or replaced', () => {
  const values = { addTags: 'night, eu', removeTags: 'old', tags: 'one', author: 'ann' }
  expect(changeOf(['addTags', 'removeTags', 'author'], values).change).toEqual({
    addTags: ['night', 'eu'],
    removeTags: ['old'],
    edit: { author: 'ann' },
  })
  expect(changeOf(['addTags'], values).change).toEqual({ addTags: ['night', 'eu'] })
  expect(changeOf(['addTags', 'tags'], values).faults).toEqual(['tags'])
  expect(changeOf(['addTags', 'removeTags'], { addTags: ' ,', removeTags: 'x'.repeat(101) }).faults).toEqual([
    'addTags',
    'removeTags',
  ])
})
