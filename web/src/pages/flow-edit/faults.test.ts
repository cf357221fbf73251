// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { groupFaults } from './faults'

test('where both speak of a place, ours is said', () => {
  const ours = [{ where: '/steps/0/jobId', code: 'noJob' as const }]
  const theirs = [
    { where: '/steps/0', text: '"jobId" is missing' },
    { where: '/steps/0/jobId', text: 'there is no job 9' },
    { where: '/steps/1', text: '"jobId" is missing' },
    { where: '/steps/0', text: '"name" is missing' },
  ]
  expect(groupFaults(ours, theirs).map((f) => f.where)).toEqual(['/steps/0/jobId', '/steps/1', '/steps/0'])
})
