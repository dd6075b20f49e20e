import Foundation
import PrivateCluster
import Testing

@Suite(.timeLimit(.minutes(5))) struct ReplicationTests {
    /// Three times the primary is killed; what was committed in between is always there, and the two servers keep their
    /// ports.
    @Test func failoversFollowEachOther() async throws {
        let pair = try await ReplicatedPair.start()
        try await pair.primary.psql("CREATE TABLE kept (n int);")
        for round in 1...3 {
            try await pair.primary.psql("INSERT INTO kept VALUES (\(round));")
            try await pair.killPrimary()
            let survivor = await pair.standby
            #expect(try await survivor.isStandby)
            try await pair.promoteStandby()
            #expect(await pair.primary === survivor)
            #expect(try await !survivor.isStandby)
            try await pair.rejoin()
            #expect(try await pair.standby.isStandby)
        }
        #expect(try await pair.primary.psql("SELECT array_agg(n ORDER BY n) FROM kept;") == "{1,2,3}\n")
        #expect(try await pair.standby.psql("SELECT count(*) FROM kept;") == "3\n")
        let found = try await pair.standby.run(
            "psql", ["-X", "-A", "-t", "-d", pair.connectionURI(database: "postgres"), "-c", "SHOW port"])
        #expect(found == "\(await pair.primary.port)\n")
        try await pair.stop()
        for server in pair.servers { #expect(!FileManager.default.fileExists(atPath: server.directory)) }
    }

    /// The standby is frozen: a commit waits, and is on the standby when it is acknowledged.
    @Test func acknowledgedIsWhatTheStandbyHas() async throws {
        let pair = try await ReplicatedPair.start()
        let (primary, standby) = (await pair.primary, await pair.standby)
        try await primary.psql("CREATE TABLE kept (n int);")
        try await standby.suspend()
        let commit = Task { try await primary.psql("INSERT INTO kept VALUES (1);") }
        while try await primary.psql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep';") != "1\n" {}
        #expect(try await primary.psql("SELECT count(*) FROM kept;") == "0\n")
        try await standby.resume()
        _ = try await commit.value
        try await pair.killPrimary()
        try await pair.promoteStandby()
        #expect(try await standby.psql("SELECT count(*) FROM kept;") == "1\n")
        try await pair.stop()
    }

    /// Unconfirmed commits can be lost: the difference that ``PrivateCluster/requireConfirmation(by:)`` makes.
    @Test func anUnconfirmedCommitIsLostWithThePrimary() async throws {
        let pair = try await ReplicatedPair.start()
        try await pair.primary.psql("CREATE TABLE kept (n int);")
        try await pair.standby.kill9()
        try await pair.primary.requireConfirmation(by: nil)
        try await pair.primary.psql("INSERT INTO kept VALUES (1);")
        try await pair.killPrimary()
        try await pair.standby.restart()
        try await pair.promoteStandby()
        #expect(try await pair.primary.psql("SELECT count(*) FROM kept;") == "0\n")
        try await pair.stop()
    }

    @Test func aServerWithoutPrimaryIsNotPromoted() async throws {
        let cluster = try await PrivateCluster.shared
        let error = await #expect(throws: PrivateClusterError.self) { try await cluster.promote() }
        #expect(error?.description.contains("recovery is not in progress") == true)
    }

    @Test func aServerThatWasKilledIsGoneWithTheLastReference() async throws {
        var cluster: PrivateCluster? = try await PrivateCluster.start(options: .testing)
        let directory = try #require(cluster?.directory)
        try await cluster?.kill9()
        #expect(FileManager.default.fileExists(atPath: directory))
        cluster = nil
        #expect(!FileManager.default.fileExists(atPath: directory))
    }
}
