import BrokerHarness
import ChildProcesses
import Foundation
import PrivateCluster
import StrictCoding

/// The shell of an operator, an empty database, an identity provider with users, and two apps: where a ``Transcript`` is
/// replayed.
actor OperatorTerminal {
    private let directory: URL
    private let shell: ManagedProcess
    private let input: FileHandle
    private let provider: DevelopmentProvider
    private let publicPort: UInt16
    private let internalPort: UInt16
    private let sql: SQLSession
    private var names: TranscriptNames
    /// By user: what the login left in the keychain that the apps share.
    private var logins: [String: BrowserLogin.Outcome] = [:]
    /// By app.
    private var refreshTokens: [String: String] = [:]

    init(_ cluster: PrivateCluster, database: String) async throws {
        // The names of the tutorial. `sso_owner` migrates and administers, `sso_service` is for brokers.
        try await cluster.makeLogin(role: "sso_owner", "SUPERUSER")
        for role in ["sso_service", "sso_support"] { try await cluster.makeLogin(role: role) }
        directory = FileManager.default.temporaryDirectory.appending(
            path: "transcript-\(Unguessable.make().prefix(12))")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        provider = try DevelopmentProvider(algorithm: "ES256", hashMode: "left_half", apps: ["app-one"])
        let ports = try LoopbackPort.free(2)
        (publicPort, internalPort) = (ports[0], ports[1])
        sql = try SQLSession(cluster, database: database, log: directory.appending(path: "psql.log"))
        names = TranscriptNames([
            ("127.0.0.1:\(cluster.port)/\(database)", "127.0.0.1:5432/native_sso"),
            ("127.0.0.1:\(cluster.port)", "127.0.0.1:5432"), ("127.0.0.1:\(provider.port)", "127.0.0.1:9000"),
            ("127.0.0.1:\(ports[0])", "127.0.0.1:8080"), ("127.0.0.1:\(ports[1])", "127.0.0.1:8081"),
            (directory.path, "/home/operator/sso"),
        ])
        let program = URL(filePath: try BuildProducts.path(of: "native-sso"))
        let channel = try PrivateChannel()
        input = channel.writing
        shell = try ManagedProcess(
            "/bin/bash", ["--norc", "--noprofile"],
            environment: [
                "PATH": "\(program.deletingLastPathComponent().path):/usr/bin:/bin", "HOME": directory.path,
                "TZ": "UTC",
            ], log: directory.appending(path: "shell.log"), input: channel.reading)
        try channel.reading.close()
        try await provider.start(tellingLogoutsTo: ports[1])
        _ = try await run(
            """
            exec 2>&1
            umask 077
            cd '\(directory.path)'
            printf %s '\(cluster.password)' > password
            mkdir keys
            psql() {
                PGPASSFILE='\(cluster.passwordFile)' PGOPTIONS='-c client_min_messages=warning' command psql -X -q -A -t -w \
                    '\(cluster.connectionURI(database: database))' "$@"
            }
            """)
    }

    /// Ends everything that was started here, brokers too.
    deinit {
        shell.kill()
        try? FileManager.default.removeItem(at: directory)
    }

    /// - Returns: What each step shows.
    func replay(_ steps: [Transcript.Step]) async throws -> [[String]] {
        var outputs: [[String]] = []
        for step in steps { outputs.append(try await show(step)) }
        return outputs
    }

    private func show(_ step: Transcript.Step) async throws -> [String] {
        let typed = names.real(step.lines.joined(separator: "\n"))
        if step.prompt == "@" {
            let said = try await act(typed)
            return names.shown(said)
        }
        if let unknown = typed.firstMatch(of: /<[a-z]+-\d+>/) {
            return ["\(unknown.0) was not shown before"]
        }
        let (output, status) = try await run(typed)
        return names.shown(output) + (status == 0 ? [] : ["[exit \(status)]"])
    }

    // MARK: The shell

    /// - Returns: Standard output and standard error, as they come.
    private func run(_ command: String) async throws -> (output: [String], status: Int32) {
        try input.send("{ \(command)\n} </dev/null\nprintf '\\n\\036%s\\n' \"$?\"\n")
        var lines: [String] = []
        while let line = try await shell.nextLine() {
            guard line.hasPrefix("\u{1E}"), let status = Int32(line.dropFirst()) else {
                lines.append(line)
                continue
            }
            while lines.last?.isEmpty == true { lines.removeLast() }
            return (lines, status)
        }
        throw await shell.ended(because: "ended after: \(command)\n\(lines.joined(separator: "\n"))")
    }

    // MARK: Users and apps

    private func act(_ sentence: String) async throws -> [String] {
        if let found = sentence.wholeMatch(of: /(\w+) logs in with (\S+)/) {
            let (user, app) = (String(found.1), String(found.2))
            let login = BrowserLogin(
                port: provider.port, client: app, redirectURI: DevelopmentProvider.redirectURI, username: user,
                password: "\(user)-demo-password")
            logins[user] = try await login.run(.deviceSecret)
            return []
        }
        if let found = sentence.wholeMatch(of: /(\w+) opens (\S+)/) {
            let (user, app) = (String(found.1), String(found.2))
            guard let login = logins[user] else { return ["\(user) has not logged in"] }
            return try await ask(
                .exchange(
                    login.idToken, issuer: provider.issuer, device: login.device, profile: .deviceSecret, client: app),
                by: app)
        }
        if let found = sentence.wholeMatch(of: /(\S+) refreshes/) {
            let app = String(found.1)
            guard let token = refreshTokens[app] else { return ["\(app) has no refresh token"] }
            return try await ask(.refresh(token, client: app), by: app)
        }
        if sentence == "the installation of the walk-through" {
            for command in Self.installation {
                let (output, status) = try await run(names.real(command))
                guard status == 0 else { return output }
            }
            return []
        }
        return ["no directive reads so"]
    }

    private func ask(_ form: TokenForm, by app: String) async throws -> [String] {
        try await untilBrokerKnowsWhatIsSuspended()
        let answer = try await HTTPRequest.token(form.parameters).send(to: publicPort)
        if let token = answer.json?.string("refresh_token") { refreshTokens[app] = token }
        let said =
            answer.status == 200
            ? "tokens" : "\(answer.error ?? "-"): \(answer.json?.string("error_description") ?? "-")"
        // The broker records refusals after it has answered, and an outage not at all.
        if (400...499).contains(answer.status) { try await untilRecorded(answer.requestID) }
        return ["\(answer.status) \(said) (X-Request-Id: \(answer.requestID))"]
    }

    /// A command ends when the database has its change. The broker hears of it a moment later.
    private nonisolated func untilBrokerKnowsWhatIsSuspended() async throws {
        let keys = try await count("signing_key WHERE suspended_at IS NOT NULL")
        let issuer = provider.issuer
        let providers = try await count("suspended_provider WHERE issuer = '\(issuer)'")
        _ = try await eventually("the broker knows \(keys) suspended keys, \(providers) providers") {
            let metrics = try await HTTPRequest("GET", "/metrics").send(to: internalPort).text
            let isKnown =
                metrics.contains("native_sso_keys_suspended \(keys)\n")
                && metrics.contains("native_sso_idp_suspended{issuer=\"\(issuer)\"} \(providers)\n")
            return isKnown ? true : nil
        }
    }

    private nonisolated func untilRecorded(_ requestID: String) async throws {
        _ = try await eventually("the audit has \(requestID)") {
            try await count("audit_line WHERE request_id = '\(requestID)'") > 0 ? true : nil
        }
    }

    private nonisolated func count(_ rows: String) async throws -> Int {
        Int(try await sql.row("SELECT count(*) FROM native_sso.\(rows)")) ?? 0
    }

    /// What `walkthrough.txt` does up to its broker.
    private static let installation = [
        """
        cat > native-sso.yaml <<END
        issuer: "http://127.0.0.1:8080"
        development: true
        public: { listen: "127.0.0.1:8080" }
        internal: { listen: "127.0.0.1:8081" }
        database: { url: "postgresql://sso_service@127.0.0.1:5432/native_sso" }
        keys: { directory: "$PWD/keys" }
        identity_providers:
          - issuer: "http://127.0.0.1:9000"
            profiles: [device-secret]
            algorithms: [ES256]
            admit_on_first_sight: true
        END
        """,
        #"export NATIVE_SSO_DATABASE_PASSWORD_FILE="$PWD/password""#,
        "sed -e 's/sso_service@/sso_owner@/' native-sso.yaml > owner.yaml",
        #"owner() { native-sso --config owner.yaml "$@"; }"#, "owner migrate up",
        "psql -c 'GRANT native_sso_broker TO sso_service'",
        "owner key generate",
        "for app in app-one app-two; do owner client add $app --audience https://api.example.com "
            + "--allowed-scope 'openid orders' --default-scope openid; done",
        "owner group add vendor --issuer http://127.0.0.1:9000", "owner group member add vendor app-one --role source",
        "owner group member add vendor app-two --role both",
    ]
}
