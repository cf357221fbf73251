// SPDX-License-Identifier: MIT
import { expect, it } from 'vitest'
import { squaresOf } from './qr'

it('has the three corner squares of a QR code, and grows with the text', () => {
  const { size, path } = squaresOf(
    'otpauth://totp/shardwheel:admin?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=shardwheel',
  )
  for (const [x, y] of [
    [0, 0],
    [size - 7, 0],
    [0, size - 7],
  ]) {
    for (const [dx, dy] of [
      [0, 0],
      [6, 6],
      [3, 3],
    ])
      expect(path).toContain(`M${x! + dx!} ${y! + dy!}h1`)
    expect(path).not.toContain(`M${x! + 1} ${y! + 1}h1`)
  }
  expect((size - 17) % 4).toBe(0)
  expect(squaresOf('a').size).toBe(21)
})
