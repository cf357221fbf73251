// SPDX-License-Identifier: MIT
/** In the place of @ctrl/tinycolor (6 kB, gzip): ElButton and ElMenu reckon with it for their property `color`, which
 * nothing here sets: colours are tokens. */
export class TinyColor {
  constructor() {
    throw new Error('colours come from theme/tokens.css')
  }
}
