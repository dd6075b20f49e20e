import BrokerHTTP
import HTTPServer
import BrokerTesting
import Foundation
import Logging
import NativeSSO
import PostgresClient
import Testing

@testable import KeyModule
@testable import Registry
@testable import native_sso

extension GuidePageTests {
    @Test func observe() async throws {
        let (metrics, checks) = try await Self.metricsAndChecks()
        let text =
            "## Health\n\n`GET /livez` answers 200 while the process serves. `GET /readyz` answers 200 if every check passes, else 503.\n"
            + "During a stop it answers 503. Each failed check names its reason in `checks[].reason`.\n\n" + checks
            + "\n## Metrics\n\n`GET /metrics` of the internal listener answers in the Prometheus text format.\n\n"
            + metrics
            + "\n## Log events\n\n" + (try Self.events())
            + "\n## Log fields\n\nEvery event has `ts`, `level` and `msg`. In JSON, whole numbers stay numbers.\n\n"
            + Markdown.table(
                ["field", "meaning"], Self.fields.sorted { $0.key < $1.key }.map { [Markdown.code($0.key), $0.value] })
            + "\n## Audit\n\n`native-sso audit list` shows the events, `native-sso explain ID` explains one request.\n\n"
            + Self.auditKinds()
        try GuidePage(name: "observe.md").expect(text)
    }

    // MARK: Metrics and checks

    private static func metricsAndChecks() async throws -> (metrics: String, checks: String) {
        let keys = FileManager.default.temporaryDirectory.appending(path: "native-sso-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: keys, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: keys) }
        let certificate = try TestCertificate.current()
        let (chain, key) = (try TemporaryFile(certificate.certificate), try TemporaryFile(certificate.key))
        let configuration = try SampleFile.read(
            SampleFile.adding(
                "    code_relay: {}\npublic: { tls: { certificate: \(chain.path), key: \(key.path) } }"
            )
            .replacing("/var/lib/native-sso/keys", with: keys.path))
        let broker = try Broker(configuration, logger: Logger(label: "guide") { _ in SwiftLogNoOpLogHandler() })
        broker.ring.count(signatureBy: "KID", in: "file", .zero)
        let text = broker.metrics(ConnectionCounts()).text
        let checks = broker.checks.map { check in
            [Markdown.code(check.name.replacing(" https://idp.example.com", with: " ISSUER")), check.help.description]
        }
        await broker.close()
        return (metricTable(text), Markdown.table(["check", "passes when: reasons for a failure"], checks))
    }

    /// From the exposition format: `# HELP`, `# TYPE`, and the labels of the samples.
    private static func metricTable(_ text: String) -> String {
        let lines = text.split(separator: "\n")
        let rows = lines.filter { $0.hasPrefix("# HELP ") }.map { line -> [String] in
            let words = line.split(separator: " ", maxSplits: 3)
            let type = lines.first { $0.hasPrefix("# TYPE \(words[2]) ") }?.split(separator: " ").last ?? ""
            var labels: [Substring] = []
            for sample in lines where sample.hasPrefix("\(words[2]){") || sample.hasPrefix("\(words[2])_bucket{") {
                for label in sample.matches(of: /[{,]([a-z]+)="/).map(\.output.1) where !labels.contains(label) {
                    labels.append(label)
                }
            }
            let shown = labels.isEmpty ? "–" : labels.map { Markdown.code(String($0)) }.joined(separator: ", ")
            return [Markdown.code(String(words[2])), String(type), shown, String(words[3])]
        }
        return Markdown.table(["metric", "type", "labels", "meaning"], rows)
    }

    // MARK: Log

    /// The sources of the broker, by the name of the file.
    private static func sources() throws -> [(name: String, text: String)] {
        let folder = GuidePage.repository.appending(path: "Sources/Broker")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects ?? []
        return try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
            .map { ($0.lastPathComponent, try String(contentsOf: $0, encoding: .utf8)) }
    }

    /// Calls that log, in the sources of the broker.
    private static func calls() throws -> [(level: String, text: Substring)] {
        var calls: [(String, Substring)] = []
        for (_, source) in try sources() {
            for match in source.matches(
                of:
                    /\b(?:logger\.(\w+)|(?:changes|unreadable|sharedKeys)\.(note)|RequestLog|log|LogLine)\((?:\s*(?:level: \.|\.)(\w+),)?/
            ) {
                let level = match.output.3 ?? match.output.1.flatMap { $0 == "log" ? nil : $0 }
                calls.append(
                    (
                        match.output.2 != nil ? "warning" : level.map(String.init) ?? "by outcome",
                        balanced(source[match.range.upperBound...])
                    ))
            }
            for match in source.matches(of: /Logger\.Message = ("[^"]+")/) { calls.append(("warning", match.output.1)) }
        }
        return calls
    }

    private static func events() throws -> String {
        var levels: [String: String] = [:]
        for (level, call) in try calls() {
            let message = call.prefix { $0 != "[" }
            for text in message.matches(of: /"((?:[a-z]|[A-Z]{2,})[^"\\]{4,})"/).map(\.output.1)
            where !text.contains(": ") {
                levels[String(text)] =
                    call.contains("level: .error") || call.hasPrefix("format, .error") ? "error" : level
            }
        }
        #expect(levels.count > 25, "the search for log events finds too little")
        return "A lasting problem is logged when it begins and, as `over: …`, when it ends.\n\n"
            + Markdown.table(
                ["event", "level"], levels.sorted { $0.key < $1.key }.map { [Markdown.code($0.key), $0.value] })
    }

    @Test func everyLogFieldHasAMeaning() throws {
        var found: Set<String> = []
        // KeyDescription writes members of a JSON schema, which look the same.
        for (name, source) in try Self.sources() where name != "KeyDescription.swift" {
            let inMetadata = /"([a-z_]+)": \.string(?:Convertible)?\(|metadata\["([a-z_]+)"\]/
            for match in source.matches(of: inMetadata) {
                found.insert(String(match.output.1 ?? match.output.2 ?? ""))
            }
            for match in source.matches(of: /[\s\[(]\("([a-z_]+)", \.(?:text|number)\(/) {
                found.insert(String(match.output.1))
            }
        }
        for (_, call) in try Self.calls() {
            for match in call.matches(of: /[\[,]\s*"([a-z_]+)":/) { found.insert(String(match.output.1)) }
        }
        // The request log passes all its fields under one name, which no line contains.
        found.remove("fields")
        #expect(found.subtracting(Self.fields.keys) == [], "a log field without a meaning on the page")
        #expect(Set(Self.fields.keys).subtracting(found) == [], "a meaning on the page that no log field has")
    }

    private static let fields = [
        "backchannel": "The port or Unix socket of the backchannel listener.",
        "claims_left_out":
            "Claims that an access token lacks because all of them together are too long: see [access tokens](access-tokens.md).",
        "client_id": "A registered client, or `unknown`. Never what an unknown client wrote.",
        "complete": "Whether a sweep deleted everything that was due.",
        "count": "How many keys of a key set the broker cannot use.",
        "duration_us":
            "Microseconds from the complete request to the answer. A refusal as `invalid_grant` or `interaction_required` waits until 5 ms after its request; the wait is not included.",
        "error": "What went wrong.",
        "events": "How many audit events were lost.",
        "fault":
            "What is wrong with an identity provider's answer, with the reason `idp_answer_unusable`: see [troubleshoot](troubleshoot.md).",
        "file": "The configuration file.",
        "grant":
            "The kind of request: \(GrantLabel.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")).",
        "internal": "The port of the internal listener.",
        "issuer": "The identity provider. Of a request: the one of its token, or the one that it named.",
        "key": "The RFC 7638 thumbprint of a key.",
        "keys": "How many keys a key set has.",
        "kid": "The name of a client's key; in the log of the signer, of a key of the broker.",
        "socket": "The socket of the signer.",
        "use": "The use of a key of the broker.",
        "user": "The number of the account whose broker uses the signer.",
        "limit": "How many files the system lets the broker open.",
        "line": "The line of the configuration file.",
        "lines": "How many log lines were lost.",
        "max_connections": "`public.max_connections`.",
        "message": "The database's or libpq's words.",
        "metrics": "The port of the metrics listener.",
        "network": "The /24 or /48 of a request that met a rate limit.",
        "not_after": "When the certificate expires.",
        "outcome": "`granted`, `refused`, `unavailable` or `failed`; of a logout see `native_sso_logouts_total`.",
        "problem": "What is wrong.",
        "problems": "How many keys cannot be used.",
        "public": "The port or Unix socket of the public listener.",
        "reason": "The refusal's reason: see [troubleshoot](troubleshoot.md). Of a database connection, why it failed.",
        "remedy": "What to do.",
        "request_id": "The X-Request-Id of the answer. `native-sso explain` takes it.",
        "server": "A database server.",
        "session_id": "The session of a request, as in the audit.",
        "setting": "A key of the configuration.",
        "sessions_ended": "How many sessions a logout ended.",
        "signing": "The kid of the active access-token key.",
        "span_id": "The span of the proxy that sent the request: see [monitoring](monitoring.md).",
        "sqlstate": "PostgreSQL's error code, or `none`.",
        "status": "The HTTP status of the answer.",
        "tls": "Whether the public listener uses TLS.",
        "trace_id": "The trace of a request, as a trusted proxy sent it in `traceparent`. It is in the audit too.",
        "usable": "Whether the broker still has a usable key set.",
        "variable": "The environment variable.",
    ]

    // MARK: Audit

    private static let session = UniqueID(high: 0, low: 1)
    private static let grant = UniqueID(high: 0, low: 2)

    private static func auditKinds() -> String {
        Markdown.table(
            ["kind", "example, in the words of `native-sso explain`"],
            AuditKind.allCases.map { kind in
                let sentence = AuditExplanation(sample(kind)).sentence
                return [
                    Markdown.code(kind.rawValue),
                    sentence.replacing(session.description, with: "SESSION").replacing(
                        grant.description, with: "GRANT"),
                ]
            })
    }

    @Test func endsByAnAppAreToldFromThoseByOperators() {
        #expect(
            AuditExplanation(Self.sample(.sessionEnded, reason: "app")).sentence
                == "App APP signed the device out and ended session \(Self.session) with everything issued in it."
        )
        #expect(
            AuditExplanation(Self.sample(.grantRevoked, reason: "app")).sentence.hasPrefix(
                "The app itself revoked grant \(Self.grant) of app APP"))
    }

    /// An event of each kind, with descriptive names.
    private static func sample(_ kind: AuditKind, reason given: String? = nil) -> AuditRecord {
        let reason: String? =
            switch kind {
            case _ where given != nil: given
            case .requestRefused: "client_unknown"
            case .exchangeRefused, .refreshRefused: "device_blocked"
            case .enrolmentRefused: "enrolment_token_used"
            case .handoffRefused: "handoff_code_used"
            case .logoutRefused: "logout_token_aud"
            case .codeOrphaned: RevocationOutcome.revoked.rawValue
            case .logoutRecorded: "session"
            case .sessionEnded: "logout"
            case .grantRevoked: "refresh_token_reused"
            default: nil
            }
        return AuditRecord(
            occurredAt: PostgresTimestamp(microseconds: 0), kind: kind.rawValue, requestID: nil,
            client: ClientID("APP"), session: session, grant: grant, reason: reason, actor: "OPERATOR",
            details: """
                {"file":"FILE","changes":"3","issuer":"ISSUER","client_id":"APP","kid":"KID","group_id":"GROUP","role":"both","scope":"SCOPE",\
                "scope_ceiling":"SCOPE","handoff":"bearer","web_client":"WEB-APP","app":"APP","made_by":"REQUEST","requires_consent":"true","thumbprint":"THUMBPRINT","use":"access_token",\
                "state":"active","session_days":90,"audit_days":90,"sessions_ended":1}
                """, issuer: Issuer("ISSUER"), sidDigest: "DIGEST", sourceClient: ClientID("SOURCE-APP"),
            group: GroupID("GROUP"), trace: nil,
            position: AuditRecord.Position(microseconds: 0, partition: 0, row: "(0,1)"), transaction: 0)
    }

    private static func balanced(_ text: Substring) -> Substring {
        var depth = 1
        for index in text.indices {
            if text[index] == "(" { depth += 1 }
            if text[index] == ")" { depth -= 1 }
            if depth == 0 { return text[..<index] }
        }
        return text
    }
}
