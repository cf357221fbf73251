// SPDX-License-Identifier: MIT
/** qr: the squares of a QR code, as the path of an SVG image with one unit for each. Pure. */
import { generate } from 'lean-qr'

export function squaresOf(text: string): { size: number; path: string } {
  const code = generate(text)
  let path = ''
  for (let y = 0; y < code.size; y++) {
    for (let x = 0; x < code.size; x++) if (code.get(x, y)) path += `M${x} ${y}h1v1h-1z`
  }
  return { size: code.size, path }
}
