// SPDX-License-Identifier: MIT
/** templates: what the source of a new GLUE job begins with. Each runs as it stands and shows its parameter. */

const GROOVY = `package com.xxl.job.service.handler;

import com.xxl.job.core.context.XxlJobHelper;
import com.xxl.job.core.handler.IJobHandler;

public class GlueJob extends IJobHandler {

    @Override
    public void execute() throws Exception {
        XxlJobHelper.log("parameter: {}", XxlJobHelper.getJobParam());
    }
}
`

const SHELL = `#!/bin/bash
# $1: parameter, $2: number of this shard, $3: how many shards there are
echo "parameter: $1"
echo "shard: $2 of $3"

exit 0
`

const PYTHON = `#!/usr/bin/python3
# -*- coding: utf-8 -*-
# argv[1]: parameter, argv[2]: number of this shard, argv[3]: how many shards there are
import sys

print("parameter:", sys.argv[1])
print("shard:", sys.argv[2], "of", sys.argv[3])

sys.exit(0)
`

const PYTHON2 = `#!/usr/bin/python
# -*- coding: utf-8 -*-
# argv[1]: parameter, argv[2]: number of this shard, argv[3]: how many shards there are
import sys

print "parameter:", sys.argv[1]
print "shard:", sys.argv[2], "of", sys.argv[3]

sys.exit(0)
`

const PHP = `<?php
// $argv[1]: parameter, $argv[2]: number of this shard, $argv[3]: how many shards there are
echo "parameter: {$argv[1]}\\n";
echo "shard: {$argv[2]} of {$argv[3]}\\n";

exit(0);
`

const NODEJS = `#!/usr/bin/env node
// argv[2]: parameter, argv[3]: number of this shard, argv[4]: how many shards there are
const [, , parameter, shard, shards] = process.argv

console.log('parameter:', parameter)
console.log('shard:', shard, 'of', shards)

process.exit(0)
`

const POWERSHELL = `# $args[0]: parameter, $args[1]: number of this shard, $args[2]: how many shards there are
Write-Host "parameter: $($args[0])"
Write-Host "shard: $($args[1]) of $($args[2])"

exit 0
`

export const GLUE_TEMPLATES: Partial<Record<string, string>> = {
  GLUE_GROOVY: GROOVY,
  GLUE_SHELL: SHELL,
  GLUE_PYTHON: PYTHON,
  GLUE_PYTHON2: PYTHON2,
  GLUE_PHP: PHP,
  GLUE_NODEJS: NODEJS,
  GLUE_POWERSHELL: POWERSHELL,
}
