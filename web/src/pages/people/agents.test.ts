// SPDX-License-Identifier: MIT
import { expect, it } from 'vitest'
import { nameAgent } from './agents'

it('names browser and system', () => {
  const linux = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
  expect(nameAgent(linux)).toBe('Chrome 142 · Linux')
  expect(nameAgent(`${linux} Edg/142.0.0.0`.replace('X11; Linux x86_64', 'Windows NT 10.0; Win64; x64'))).toBe('Edge 142 · Windows')
  expect(nameAgent('Mozilla/5.0 (Macintosh; Intel Mac OS X 14.7; rv:140.0) Gecko/20100101 Firefox/140.0')).toBe(
    'Firefox 140 · macOS',
  )
  const phone =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1'
  expect(nameAgent(phone)).toBe('Safari 18 · iOS')
})

it('leaves programs as they are', () => {
  expect(nameAgent('curl/8.5.0')).toBe('curl/8.5.0')
  expect(nameAgent('')).toBe('')
})
