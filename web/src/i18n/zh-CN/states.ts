// SPDX-License-Identifier: MIT
export default {
  planned: '已计划',
  running: '运行中',
  success: '成功',
  failed: '失败',
  retried: '失败，已重试',
  late: '延迟触发',
  skipped: '已跳过',
  unknown: '未知',
}
