/* SPDX-License-Identifier: MIT */
package org.shardwheel.curator;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryForever;

/**
 * Contends for the locks of shards with Curator's own recipe.
 *
 * <p>Arguments: servers, base path, session timeout in milliseconds. One command per line on stdin, one answer on stdout:
 * <pre>
 *   acquire K TIMEOUT_MS   acquired | timeout
 *   release K              released
 *   participants K         participants NODE=DATA NODE=DATA ...   in the order in which they come to hold it
 *   quit                   (ends)
 * </pre>
 * What goes wrong is answered as "error" and its text. A mutex belongs to the thread that acquired it, so one thread does
 * everything.
 */
public final class Main {
    private final CuratorFramework client;
    private final String base;
    private final Map<Integer, InterProcessMutex> mutexes = new HashMap<>();

    private Main(CuratorFramework client, String base) {
        this.client = client;
        this.base = base;
    }

    private InterProcessMutex mutex(int shard) {
        return mutexes.computeIfAbsent(shard, k -> new InterProcessMutex(client, base + "/schedule_lock_" + k));
    }

    private String participants(int shard) throws Exception {
        StringJoiner answer = new StringJoiner(" ", "participants ", "").setEmptyValue("participants");
        for (String path : mutex(shard).getParticipantNodes()) {
            String data = new String(client.getData().forPath(path), StandardCharsets.UTF_8);
            answer.add(path.substring(path.lastIndexOf('/') + 1) + "=" + data);
        }
        return answer.toString();
    }

    private String answer(String[] words) throws Exception {
        int shard = Integer.parseInt(words[1]);
        switch (words[0]) {
            case "acquire":
                return mutex(shard).acquire(Long.parseLong(words[2]), TimeUnit.MILLISECONDS) ? "acquired" : "timeout";
            case "release":
                mutex(shard).release();
                return "released";
            case "participants":
                return participants(shard);
            default:
                throw new IllegalArgumentException("unknown command " + words[0]);
        }
    }

    private void serve(BufferedReader commands) throws Exception {
        for (String line = commands.readLine(); line != null && !line.equals("quit"); line = commands.readLine()) {
            String said;
            try {
                said = answer(line.split(" "));
            } catch (Exception e) {
                said = "error " + e;
            }
            System.out.println(said);
        }
    }

    public static void main(String[] args) throws Exception {
        int timeout = Integer.parseInt(args[2]);
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], timeout, timeout, new RetryForever(100))) {
            client.start();
            if (!client.blockUntilConnected(20, TimeUnit.SECONDS)) {
                throw new IllegalStateException("no ZooKeeper at " + args[0]);
            }
            System.out.println("ready " + Long.toHexString(client.getZookeeperClient().getZooKeeper().getSessionId()));
            new Main(client, args[1]).serve(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
        }
    }
}
