import BrokerHarness
import BrokerTesting
import Foundation
import PrivateCluster
import StrictCoding
import Testing

@Suite("Listings, times, completions and progress, as on a terminal", .timeLimit(.minutes(10)))
struct TerminalTests {
    /// Runs a command on a terminal of its own; everything that it shows, and its exit status.
    private func onTerminal(
        _ arguments: [String], columns: Int = 200, environment: [String: String] = [:], _ installation: Installation
    ) async throws -> (status: Int32, shown: String) {
        let process = try start(arguments, columns: columns, environment: environment, installation, file: "terminal")
        let status = await process.exitStatus
        return (status, try String(contentsOfFile: installation.file("terminal"), encoding: .utf8))
    }

    private func start(
        _ arguments: [String], columns: Int = 200, environment: [String: String] = [:], _ installation: Installation,
        file: String
    ) throws -> ManagedProcess {
        let command = [try BuildProducts.path(of: "native-sso"), "--config", installation.file("administration.yaml")]
        let quoted = (command + arguments).map { "'\($0)'" }.joined(separator: " ")
        return try ManagedProcess(
            "/usr/bin/script",
            ["-qefc", "stty cols \(columns) rows 50; exec \(quoted)", installation.file(file)],
            environment: environment.merging(["SHELL": "/bin/sh"]) { $1 },
            log: installation.directory.appending(path: "script.log"))
    }

    private static let addAccount = """
        INSERT INTO native_sso.subject_logout (idp_issuer, subject, issued_at, disabled_at, recorded_at)
        SELECT '\(Installation.identityProvider)', 'user ' || n, now(), now() - interval '1 hour' * (n / 2), now()
        FROM generate_series(1, 4) AS n
        """

    // MARK: Pages

    @Test func `every listing with a limit continues where it ended`() async throws {
        try await Installation.withSchema { installation in
            try await SessionCommandTests().put(installation)
            _ = try await installation.cluster.psql(Self.addAccount, database: installation.database)
            for (command, name, id, count) in [
                (["session", "list"], "sessions", "session_id", 2),
                (["grant", "list", "--client", "app2"], "grants", "grant_id", 2),
                (["account", "list"], "accounts", "sub", 4), (["audit", "list"], "events", "request_id", 8),
            ] {
                let whole = try await self.page(command, name, id, installation)
                #expect(whole.ids.count >= count && whole.next == nil, "\(command)")
                var (paged, next, pages): ([String], String?, Int) = ([], nil, 0)
                repeat {
                    let page = try await self.page(
                        command + ["--limit", "1"] + (next.map { ["--after", $0] } ?? []), name, id, installation)
                    paged += page.ids
                    next = page.next
                    pages += 1
                } while next != nil && pages < 50
                #expect(paged == whole.ids, "\(command)")
            }
        }
    }

    private func page(
        _ command: [String], _ name: String, _ id: String, _ installation: Installation
    ) async throws -> (ids: [String], next: String?) {
        let page = try await installation.object(command)
        let rows = try #require(page.array(name)).compactMap(\.object)
        return (rows.map { $0.string(id) ?? "-" }, page.string("next"))
    }

    // MARK: Times and width

    @Test func `times are local, unless UTC is asked for, and JSON is always UTC`() async throws {
        try await Installation.withSchema { installation in
            for (zone, offset) in [("XYZ-5:30", "+05:30"), ("XYZ3:15", "-03:15"), ("UTC0", "Z")] {
                let local = try await installation.run(["key", "list"], environment: ["TZ": zone]).output
                let utc = try await installation.run(["--utc", "key", "list"], environment: ["TZ": zone]).output
                let json = try await installation.run(["--json", "key", "list"], environment: ["TZ": zone]).output
                let shown = try #require(Self.instant(in: local)), same = try #require(Self.instant(in: utc))
                #expect(shown.hasSuffix(offset), "\(local)")
                #expect(same.hasSuffix("Z") && json.contains(same), "\(json)")
                let strategy = Date.ISO8601FormatStyle()
                #expect(try Date(shown, strategy: strategy) == Date(same, strategy: strategy))
            }
        }
    }

    private static func instant(in text: String) -> String? {
        text.split(whereSeparator: \.isWhitespace).first { $0.hasPrefix("20") && $0.contains("T") }.map(String.init)
    }

    @Test func `a table that is wider than the terminal is shown row by row`() async throws {
        try await Installation.withSchema { installation in
            let wide = try await onTerminal(["key", "list"], columns: 220, installation)
            #expect(wide.status == 0 && wide.shown.contains("KID "), "\(wide.shown)")
            let narrow = try await onTerminal(["key", "list"], columns: 80, installation)
            #expect(!narrow.shown.contains("KID ") && narrow.shown.contains("usable here:  yes"), "\(narrow.shown)")
            // A pipe has no width.
            #expect(try await installation.command("key", "list").contains("KID "))
        }
    }

    // MARK: Completions

    @Test func `a shell completes clients, groups and kids`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            func complete(_ command: [String], _ argument: String, typed: String) async throws -> [String] {
                let line = ["native-sso", "--config", installation.file("administration.yaml")] + command + [typed]
                let outcome = try await ManagedProcess.run(
                    try BuildProducts.path(of: "native-sso"),
                    ["---completion"] + command + ["--", argument, "\(line.count - 1)", "\(typed.count)"] + line,
                    log: installation.directory.appending(path: "completion.log"))
                #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
                return outcome.output.split(separator: "\n").map(String.init)
            }
            #expect(try await complete(["client", "show"], "positional@0", typed: "") == ["app1", "app2"])
            #expect(try await complete(["client", "show"], "positional@0", typed: "app2") == ["app2"])
            #expect(try await complete(["group", "member", "add"], "positional@0", typed: "") == ["vendor"])
            #expect(try await complete(["group", "member", "add"], "positional@1", typed: "x").isEmpty)
            #expect(try await complete(["session", "end"], "--client", typed: "") == ["app1", "app2"])
            let kids = try await installation.object("key", "list").array("keys")?.compactMap {
                $0.object?.string("kid")
            }
            #expect(Set(try await complete(["key", "retire"], "positional@0", typed: "")) == Set(try #require(kids)))

            // Without a database: nothing, and no message in the middle of a line.
            let away = try await ManagedProcess.run(
                try BuildProducts.path(of: "native-sso"),
                [
                    "---completion", "client", "show", "--", "positional@0", "3", "0", "native-sso", "client", "show",
                    "",
                ],
                environment: ["NATIVE_SSO_DATABASE_URL": "postgresql://postgres@127.0.0.1:1/x"],
                log: installation.directory.appending(path: "away.log"))
            #expect(away.status == 0 && away.output.trimmingCharacters(in: .whitespacesAndNewlines).isEmpty)
            #expect(away.errors.isEmpty, "\(away.errors)")
        }
    }

    // MARK: Progress

    @Test func `what takes longer than a second shows that it goes on, on a terminal only`() async throws {
        try await Installation.withSchema { installation in
            try await SessionCommandTests().put(installation)
            // A lock keeps the end waiting until the progress was seen.
            let session = try installation.session()
            try await session.rows("BEGIN; SELECT FROM native_sso.session FOR UPDATE")
            let end = ["session", "end", "--execute", "--reason", "test", "--sid"]
            let ending = try start(end + ["sid-1"], installation, file: "progress")
            _ = try await eventually("progress", every: .milliseconds(50)) {
                let shown = try? String(contentsOfFile: installation.file("progress"), encoding: .utf8)
                return shown?.contains("end 1 session … 1 s") == true ? true : nil
            }
            try await session.rows("COMMIT")
            #expect(await ending.exitStatus == 0)
            let shown = try String(contentsOfFile: installation.file("progress"), encoding: .utf8)
            #expect(shown.contains("done: end 1 session"), "\(shown)")

            let piped = try await installation.run(end + ["sid-2"])
            #expect(piped.status == 0 && piped.errors.isEmpty && !piped.output.contains("…"))
        }
    }
}
