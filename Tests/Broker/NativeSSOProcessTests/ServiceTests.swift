import BrokerHarness
import Foundation
import Glibc
import PrivateCluster
import Testing

@Suite("native-sso serve, under a service manager", .timeLimit(.minutes(5)))
struct ServiceTests {
    /// Does what systemd does for a service with a socket and a watchdog: opens a listening socket as descriptor 3, and
    /// receives messages. Prints the port, the process ID, then each message on a line.
    private static let manager = """
        import os, socket, sys
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        messages = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        messages.bind(sys.argv[1])
        print(listener.getsockname()[1], flush=True)
        child = os.fork()
        if child == 0:
            os.dup2(listener.fileno(), 9)
            os.dup2(9, 3)
            os.environ.update(NOTIFY_SOCKET=sys.argv[1], WATCHDOG_USEC="400000", LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
            os.execv(sys.argv[2], sys.argv[2:])
        print(child, flush=True)
        text = ""
        while not text.startswith("STOPPING"):
            text = messages.recv(4096).decode()
            print(text.replace("\\n", " "), flush=True)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """

    private func variables(_ installation: Installation, _ more: [String: String]) -> [String: String] {
        installation.serviceEnvironment.merging(["NATIVE_SSO_PUBLIC_LISTEN": "systemd"]) { $1 }.merging(more) { $1 }
    }

    @Test func `it serves on the manager's socket, and reports start, state and stop`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let socket = "/tmp/native-sso-\(UInt32.random(in: 0...UInt32.max)).notify"
            defer { unlink(socket) }
            let ports = "127.0.0.1:\(try LoopbackPort.free())"
            let process = try ManagedProcess(
                "/usr/bin/env",
                [
                    "python3", "-c", Self.manager, socket, try BuildProducts.path(of: "native-sso"), "serve",
                    "--config", installation.file("native-sso.yaml"),
                ], environment: variables(installation, ["NATIVE_SSO_INTERNAL_LISTEN": ports]),
                log: URL(filePath: installation.file("service.log")))
            let port = try #require(UInt16(try await process.nextLine() ?? ""))
            let broker = try #require(pid_t(try await process.nextLine() ?? ""))
            defer { kill(broker, SIGKILL) }

            var seen: Set<String> = []
            while !seen.isSuperset(of: ["READY=1", "WATCHDOG=1 STATUS=ready"]) {
                seen.insert(try #require(try await process.nextLine(), "\(process.errors)"))
            }
            let login = try Login(installation, sid: "sid-1")
            let answer = try await HTTPRequest.token(login.exchange(by: "app2").parameters).send(to: port)
            #expect(answer.status == 200, "\(answer.text)")

            kill(broker, SIGTERM)
            var last: String?
            while let line = try await process.nextLine() { last = line }
            #expect(last == "STOPPING=1 STATUS=stopping")
            #expect(await process.exitStatus == 0)
        }
    }

    @Test func `it serves although the disk of its log is full, and counts the lost lines`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let broker = try Broker(
                configuration: URL(filePath: installation.file("native-sso.yaml")), log: URL(filePath: "/dev/full"),
                environment: installation.serviceEnvironment)
            try await broker.untilReady()
            let answer = try await HTTPRequest.token(Login(installation, sid: "sid-1").exchange(by: "app2").parameters)
                .send(to: broker.publicPort)
            #expect(answer.status == 200, "\(answer.text)")
            let lost = try await eventually("the line of the request is counted") {
                let metrics = try await broker.get("/metrics").text
                let line = metrics.split(separator: "\n").first { $0.hasPrefix("native_sso_log_lines_dropped_total ") }
                return line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
            }
            // A line, and not its octets again and again.
            #expect(lost < 100)
            try await broker.stop()
        }
    }

    @Test func `without the manager's socket it says which unit to enable, and is not worth a restart`() async throws {
        try await Installation.withSchema { installation in
            let outcome = try await installation.run(["serve"], environment: variables(installation, [:]))
            #expect(outcome.status == 2)
            #expect(
                outcome.errors.contains(
                    "public.listen: systemd opened no socket for this process; run systemctl enable --now "
                        + "native-sso.socket, and start the broker with systemctl start native-sso"),
                "\(outcome.errors)")
            let foreign = ["LISTEN_PID": "1", "LISTEN_FDS": "1"]
            #expect(try await installation.run(["serve"], environment: variables(installation, foreign)).status == 2)
        }
    }

    @Test func `a schema that does not fit is in the log, with what to do`() async throws {
        try await Installation.withSchema { installation in
            func problem(after change: String, _ event: String) async throws -> String {
                try await installation.cluster.psql(change, database: installation.database)
                let broker = try await Broker.start(installation)
                return try #require(try await broker.process.errorLine(containing: event), "\(broker.process.errors)")
            }
            let newer = try await problem(
                after: """
                    INSERT INTO native_sso.schema_migration (version, name, sha256, applied_at, applied_by)
                    VALUES (999, 'future', sha256('future'), now(), 'someone')
                    """, "the schema is newer than this program, which still serves")
            #expect(newer.contains("Run the newer release."), "\(newer)")
            let older = try await problem(
                after: """
                    DELETE FROM native_sso.schema_migration WHERE version = 999;
                    DELETE FROM native_sso.schema_migration WHERE name = 'logout'
                    """, "the schema does not fit this program")
            #expect(
                older.contains("Not applied to the database yet: logout.sql. Run `native-sso migrate up`."), "\(older)")
        }
    }
}
