// SPDX-License-Identifier: MIT
/** sent: how a run was sent, out of the stored message, in whatever language a node or a Java admin wrote it. Pure. */
const FIELDS = {
  trigger: ['触发类型', '觸發類型', 'trigger type'],
  due: ['应触发时间', '應觸發時間', 'due'],
  node: ['节点', '節點', 'node'],
  admin: ['调度中心地址', '調度中心位址', 'admin address'],
  addressType: ['地址来源', '位址來源', 'address type'],
  addresses: ['地址列表', '位址清單', 'addresses'],
  route: ['路由策略', 'route'],
  block: ['阻塞处理策略', '阻塞處理策略', 'block strategy'],
  timeout: ['超时', '逾時', 'timeout'],
  retries: ['剩余重试', '剩餘重試', 'retries'],
  address: ['执行器地址', '執行器位址', 'executor address', 'address'],
  handler: ['JobHandler', 'handler'],
  parameter: ['参数', '參數', 'parameter'],
  result: ['结果', '結果', 'result'],
  code: ['code'],
  reason: ['原因', 'reason', 'msg'],
} as const

const VALUES = {
  automatic: ['自动', '自動', 'automatic'],
  manual: ['手动', '手動', 'manual'],
  noGroup: ['执行器不存在', '執行器不存在', 'the executor group does not exist'],
  refused: ['执行器拒绝', '執行器拒絕', 'refused by the executor'],
  failed: ['失败', '失敗', 'failed'],
} as const

export type SentField = keyof typeof FIELDS
export type SentValue = keyof typeof VALUES

/** Without a field it is a line of another kind, as it is. `known`: a word of the value, `value` what follows it. */
export interface SentLine {
  field?: SentField
  known?: SentValue
  value: string
}

const find = <K extends string>(table: Record<K, readonly string[]>, word: string): K | undefined =>
  (Object.keys(table) as K[]).find((key) => table[key].includes(word))

function readValue(field: SentField, text: string): Pick<SentLine, 'known' | 'value'> {
  const [, first = '', rest = ''] = /^(\S+) (\[.*)$/s.exec(text) ?? []
  const whole = field === 'addresses' || field === 'addressType' || field === 'result' ? find(VALUES, text) : undefined
  const begun = field === 'addresses' && first ? find(VALUES, first) : undefined
  return whole ? { known: whole, value: '' } : begun ? { known: begun, value: rest } : { value: text }
}

/** The reason is the last field: whatever lines follow it are its own. */
export function readSent(text: string): SentLine[] {
  const lines: SentLine[] = []
  for (const line of text.split('\n')) {
    const last = lines.at(-1)
    const [, title = '', value = ''] = /^([^:：]{1,20}?)(?:：|: ?)(.*)$/s.exec(line) ?? []
    const field = last?.field === 'reason' ? undefined : find(FIELDS, title)
    if (field) lines.push({ field, ...readValue(field, value) })
    else if (last?.field === 'reason') last.value += `\n${line}`
    else if (line.trim()) lines.push({ value: line })
  }
  return lines.map((line) => ({ ...line, value: line.value.trimEnd() }))
}
