// SPDX-License-Identifier: MIT
export default {
  planned: '已規劃',
  running: '執行中',
  success: '成功',
  failed: '失敗',
  retried: '失敗，已重試',
  late: '延遲觸發',
  skipped: '已略過',
  unknown: '不明',
}
