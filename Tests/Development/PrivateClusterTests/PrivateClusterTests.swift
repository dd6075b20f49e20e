import Foundation
import Glibc
import PrivateCluster
import Testing

@Suite(.timeLimit(.minutes(5))) struct PrivateClusterTests {
    @Test func sharedClusterAnswersOverTCPAndSocket() async throws {
        let cluster = try await PrivateCluster.shared
        #expect(try await cluster.psql("SELECT 40 + 2;") == "42\n")
        let overSocket = try await cluster.run(
            "psql", ["-X", "-A", "-t", "-d", cluster.socketURI(database: "postgres"), "-c", "SHOW server_encoding"])
        #expect(overSocket == "UTF8\n")
    }

    @Test func settingsKeepStatementsAndParametersOutOfTheLog() async throws {
        let cluster = try await PrivateCluster.shared
        let settings = try await cluster.psql(
            """
            SELECT name, setting FROM pg_settings WHERE name IN ('log_statement', 'log_parameter_max_length',
              'log_parameter_max_length_on_error', 'log_min_error_statement', 'data_checksums') ORDER BY name COLLATE "C";
            """)
        #expect(
            settings == """
                data_checksums|on
                log_min_error_statement|panic
                log_parameter_max_length|0
                log_parameter_max_length_on_error|0
                log_statement|none

                """)
    }

    @Test func passwordIsAskedForAndItsFileIsPrivate() async throws {
        let cluster = try await PrivateCluster.shared
        let mode = try FileManager.default.attributesOfItem(atPath: cluster.passwordFile)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let stranger = "postgresql://postgres:wrong@127.0.0.1:\(cluster.port)/postgres"
        let refusal = await #expect(throws: PrivateClusterError.self) {
            _ = try await cluster.run("psql", ["-X", "-w", "-d", stranger, "-c", "SELECT 1"])
        }
        #expect(refusal?.description.contains("password authentication failed") == true)
    }

    @Test func databaseIsACopyOfItsTemplate() async throws {
        let cluster = try await PrivateCluster.shared
        try await cluster.withDatabase { template in
            try await cluster.psql("CREATE TABLE kept (n int); INSERT INTO kept VALUES (7);", database: template)
            try await cluster.withDatabase(template: template) { copy in
                let copied = try await cluster.psql("SELECT n FROM kept;", database: copy)
                #expect(copied == "7\n")
            }
        }
        await #expect(throws: PrivateClusterError.unusableName("a\"; DROP")) {
            try await cluster.createDatabase("a\"; DROP")
        }
    }

    @Test func dataOutlivesRestartKillAndSuspension() async throws {
        let cluster = try await PrivateCluster.start(options: .testing)
        try await cluster.psql("CREATE TABLE kept (n int); INSERT INTO kept VALUES (7); CHECKPOINT;")
        try await cluster.restart()
        #expect(try await cluster.psql("SELECT n FROM kept;") == "7\n")
        try await cluster.kill9()
        await #expect(throws: PrivateClusterError.notRunning) { try await cluster.suspend() }
        try await cluster.restart()
        #expect(try await cluster.psql("SELECT n FROM kept;") == "7\n")
        try await cluster.suspend()
        async let answer = cluster.psql("SELECT n FROM kept;")
        try await cluster.resume()
        #expect(try await answer == "7\n")
        try await cluster.stop()
        #expect(!FileManager.default.fileExists(atPath: cluster.directory))
    }

    @Test func directoryThatIsNotEphemeralCanBeStartedAgain() async throws {
        var options = ClusterOptions.testing
        options.isEphemeral = false
        let first = try await PrivateCluster.start(options: options)
        defer { try? FileManager.default.removeItem(atPath: first.directory) }
        try await first.psql("CREATE TABLE kept (n int); INSERT INTO kept VALUES (7);")
        try await first.stop()
        let second = try await PrivateCluster.start(directory: first.directory, options: options)
        #expect(try await second.psql("SELECT n FROM kept;") == "7\n")
        try await second.stop()
    }

    @Test func directoryOfOtherThingsIsLeftAlone() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "private-cluster-\(UUID())").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try Data("mine".utf8).write(to: URL(filePath: "\(directory)/file"))
        await #expect(throws: PrivateClusterError.directoryNotEmpty(directory)) {
            _ = try await PrivateCluster.start(directory: directory, options: .testing)
        }
        #expect(FileManager.default.fileExists(atPath: "\(directory)/file"))
    }

    @Test func serverThatCannotStartSaysWhy() async throws {
        var options = ClusterOptions.testing
        options.settings["shared_buffers"] = "nonsense"
        let error = await #expect(throws: PrivateClusterError.self) {
            _ = try await PrivateCluster.start(options: options)
        }
        #expect(error?.description.contains("shared_buffers") == true)
    }

    @Test func serverAndDirectoryGoWhenTheOwnerIsKilled() async throws {
        let ended = await #expect(processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]) {
            let cluster = try await PrivateCluster.start(options: .testing)
            let line = Array("<\(cluster.directory)>".utf8)
            _ = line.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
            kill(getpid(), SIGKILL)
        }
        let output = String(decoding: ended?.standardOutputContent ?? [], as: UTF8.self)
        let directory = try #require(output.split(separator: "<").last?.split(separator: ">").first.map(String.init))
        #expect(directory.contains("private-cluster-"))
        let deadline = ContinuousClock.now + .seconds(60)
        while FileManager.default.fileExists(atPath: directory), ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(!FileManager.default.fileExists(atPath: directory))
    }
}
