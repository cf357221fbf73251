// SPDX-License-Identifier: MIT
import { describe, expect, it } from 'vitest'
import { bySection, filterSettings, originOf, type Setting } from './filter'

const one = (key: string, source: string, section = 'Serving'): Setting => ({
  key,
  value: '8080',
  source,
  section,
  help: 'TCP port of the console.',
  default: '8080',
  reloadable: false,
})
const all = [one('server.port', 'conf/a.properties:3'), one('shards', 'default', 'Coordination'), one('bind', 'default')]

it('knows who set it', () => {
  expect(['default', 'environment SERVER_PORT', 'command line', 'a.properties:12'].map(originOf)).toEqual([
    'default',
    'environment',
    'command',
    'file',
  ])
})

describe('filters', () => {
  it('want all words, in key, value or help', () => {
    expect(filterSettings(all, 'PORT console', false)).toHaveLength(3)
    expect(filterSettings(all, 'shards 8080', false).map((s) => s.key)).toEqual(['shards'])
    expect(filterSettings(all, 'nothing', false)).toEqual([])
  })
  it('leave defaults out', () => {
    expect(filterSettings(all, '', true).map((s) => s.key)).toEqual(['server.port'])
  })
})

it('puts sections together in their order', () => {
  expect(bySection(all).map((s) => [s.title, s.items.length])).toEqual([
    ['Serving', 2],
    ['Coordination', 1],
  ])
})
