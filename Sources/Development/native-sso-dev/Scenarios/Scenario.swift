/// A text that describes single sign-on for native apps. In the order of the table: first what this broker is for.
enum Document: CaseIterable {
    case nativeSSO, guide, flow, system, systemAgain

    /// Begins each line about a step of it.
    var author: String {
        switch self {
        case .nativeSSO: "Fletcher"
        case .guide: "Ping Identity"
        case .flow: "AppDirect"
        case .system: "quizz.vn"
        case .systemAgain: "quizz.vn, again"
        }
    }

    var title: String {
        switch self {
        case .nativeSSO: "George Fletcher, Nat Sakimura: Native SSO for Mobile Apps, the profile of 2018"
        case .guide: "Ping Identity: Mobile App SSO Developers Guide"
        case .flow: "AppDirect: SSO flow for native applications"
        case .system: "quizz.vn: OIDC SSO System, mobile app, PKCE, JWT, JWKS"
        case .systemAgain: "quizz.vn: the same system told again, with validation, silent authentication, key rotation"
        }
    }
}

/// One scenario of a document, as the demonstration runs it.
struct Scenario: Sendable {
    let document: Document
    let name: String
    let run: @Sendable (ScenarioRun) async throws -> Void

    var title: String { "\(document.author) \(name)" }

    init(_ document: Document, _ name: String, _ run: @escaping @Sendable (ScenarioRun) async throws -> Void) {
        self.document = document
        self.name = name
        self.run = run
    }

    /// In the order in which they run.
    static let all = [
        Scenario(.system, "scenario 1, steps 1–17") { try await $0.firstLogin() },
        Scenario(.system, "scenario 2A: access token valid") { try await $0.tokenInMemory() },
        Scenario(.system, "scenario 2B: app killed") { try await $0.killedApp() },
        Scenario(.system, "scenario 2C: access token expired") { try await $0.expiredToken() },
        Scenario(.system, "JWKS and token validation") { try await $0.tokenValidation() },
        Scenario(.system, "token storage") { try await $0.storage() },
        Scenario(.systemAgain, "scenario 1, steps 1–9") { try await $0.firstLoginAgain() },
        Scenario(.systemAgain, "scenario 2a: valid token") { try await $0.validToken() },
        Scenario(.systemAgain, "scenario 2b: refresh") { try await $0.refreshWithRotation() },
        Scenario(.systemAgain, "JWKS cache policy") { try await $0.keyCachePolicy() },
        Scenario(.nativeSSO, "[0]–[8] mobile app #1") { try await $0.appOne() },
        Scenario(.nativeSSO, "[9]–[10] mobile app #2") { try await $0.appTwo() },
        Scenario(.nativeSSO, "mobile app #2 goes on") { try await $0.appTwoGoesOn() },
        Scenario(.nativeSSO, "6.1 request parameters") { try await $0.exchangeParameters() },
        Scenario(.nativeSSO, "6.2 request") { try await $0.exchangeRequest() },
        Scenario(.nativeSSO, "6.3 processing rules") { try await $0.processingRules() },
        Scenario(.nativeSSO, "6.4 response") { try await $0.exchangeResponse() },
        Scenario(.nativeSSO, "native-sso session end") { try await $0.endSessionAsOperator() },
        Scenario(.guide, "hand-off to the web") { try await $0.handOffToWeb() },
        Scenario(.guide, "sign-in") { try await $0.signIn() },
        Scenario(.guide, "callback errors") { try await $0.callbackErrors() },
        Scenario(.guide, "token validation") { try await $0.idTokenValidation() },
        Scenario(.guide, "userinfo") { try await $0.userInfo() },
        Scenario(.guide, "session management") { try await $0.sessionManagement() },
        Scenario(.guide, "consent") { try await $0.consent() },
        Scenario(.flow, "steps 1–10") { try await $0.nativeFlow() },
        Scenario(.system, "scenario 2D: refresh token expired") { try await $0.expiredRefreshToken() },
        Scenario(.systemAgain, "scenario 2c, silent authentication") { try await $0.silentAuthentication() },
        Scenario(.nativeSSO, "logout at the IdP") { try await $0.logOutAtProvider() },
        Scenario(.guide, "authentication methods") { try await $0.secondFactor() },
        Scenario(.systemAgain, "key rotation") { try await $0.keyRotation() },
    ]

    /// How many of the last run in one walk after the other: a logout may end every login of a user, a second factor's code is
    /// good once, and a new key is every walk's new key.
    static let exclusive = 3
}

/// What became of every scenario in every walk.
struct ScenarioTable: Sendable {
    let walks: [DemonstratedProfile]
    private var passed: [String: Bool] = [:]

    init(_ walks: [DemonstratedProfile]) { self.walks = walks }

    mutating func record(_ scenario: Scenario, _ walk: DemonstratedProfile, passed: Bool) {
        self.passed[Self.cell(scenario, walk)] = passed
    }

    var failures: Int { passed.values.count { !$0 } }

    /// Document by document.
    var lines: [String] {
        let width = (Scenario.all.map(\.name.count).max() ?? 0) + 2
        func line(_ title: String, _ cells: [String]) -> String {
            let cells = zip(walks, cells).map { Self.padded($1, to: max($0.label.count, 6)) }
            let line = ([Self.padded(title, to: width)] + cells).joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
        return [line("scenario", walks.map(\.label))]
            + Document.allCases.flatMap { document in
                [document.title]
                    + Scenario.all.filter { $0.document == document }.map { scenario in
                        line(
                            "  " + scenario.name,
                            walks.map { walk in
                                passed[Self.cell(scenario, walk)].map { $0 ? "passed" : "FAILED" } ?? "–"
                            })
                    }
            }
    }

    private static func cell(_ scenario: Scenario, _ walk: DemonstratedProfile) -> String {
        "\(scenario.title)/\(walk)"
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
