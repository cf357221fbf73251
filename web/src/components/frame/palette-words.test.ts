// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { readPalette } from './palette-words'

const EN = { run: 'Run', start: 'Start', stop: 'Stop', edit: 'Edit', why: 'Why?' }
const ZH = { run: '执行一次', start: '启动', stop: '停止', edit: '编辑', why: '为什么？' }

test('an action and a job', () => {
  expect(readPalette('stop order-sync', EN)).toEqual({ action: 'stop', text: 'order-sync', id: undefined })
  expect(readPalette('STOP', EN)).toEqual({ action: 'stop', text: '', id: undefined })
  expect(readPalette('停止 order', ZH)).toEqual({ action: 'stop', text: 'order', id: undefined })
  expect(readPalette('停止order', ZH)).toEqual({ action: 'stop', text: 'order', id: undefined })
  expect(readPalette('stop order', ZH).action).toBe('stop')
})

test('a word that only begins like an action is a text', () => {
  expect(readPalette('stopped jobs', EN)).toEqual({ action: undefined, text: 'stopped jobs', id: undefined })
  expect(readPalette('runner', EN).action).toBeUndefined()
})

test('an id of a job or a run', () => {
  expect(readPalette('#12', EN).id).toBe(12)
  expect(readPalette(' 12 ', EN).id).toBe(12)
  expect(readPalette('12a', EN).id).toBeUndefined()
})
