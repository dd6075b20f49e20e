/// One scenario of the documents that describe single sign-on for native apps, as the demonstration runs it.
struct Scenario: Sendable {
    /// The documents, by the numbers that every line and the table name.
    static let documents = [
        "000  OIDC SSO system: mobile app, PKCE, JWT, JWKS",
        "001  the same system with token validation, silent authentication and key rotation",
        "002  Native SSO for Mobile Apps: the profile of 2018",
        "003  Mobile App SSO developers guide",
        "004  SSO flow for native applications",
    ]

    let document: String
    let name: String
    let run: @Sendable (ScenarioRun) async throws -> Void

    var title: String { "\(document) \(name)" }

    init(_ document: String, _ name: String, _ run: @escaping @Sendable (ScenarioRun) async throws -> Void) {
        self.document = document
        self.name = name
        self.run = run
    }

    /// In the order in which they run: those that wait for a refresh token to expire come last.
    static let all = [
        Scenario("000", "scenario 1, steps 1–17") { try await $0.firstLogin() },
        Scenario("000", "scenario 2A: access token valid") { try await $0.tokenInMemory() },
        Scenario("000", "scenario 2B: app killed") { try await $0.killedApp() },
        Scenario("000", "scenario 2C: access token expired") { try await $0.expiredToken() },
        Scenario("000", "JWKS and token validation") { try await $0.tokenValidation() },
        Scenario("000", "token storage") { try await $0.storage() },
        Scenario("001", "scenario 1, steps 1–9") { try await $0.firstLoginAgain() },
        Scenario("001", "scenario 2a: valid token") { try await $0.validToken() },
        Scenario("001", "scenario 2b: refresh") { try await $0.refreshWithRotation() },
        Scenario("001", "JWKS cache policy") { try await $0.keyCachePolicy() },
        Scenario("002", "[0]–[8] mobile app #1") { try await $0.appOne() },
        Scenario("002", "[9]–[10] mobile app #2") { try await $0.appTwo() },
        Scenario("002", "mobile app #2 goes on") { try await $0.appTwoGoesOn() },
        Scenario("002", "6.1 request parameters") { try await $0.exchangeParameters() },
        Scenario("002", "6.2 request") { try await $0.exchangeRequest() },
        Scenario("002", "6.3 processing rules") { try await $0.processingRules() },
        Scenario("002", "6.4 response") { try await $0.exchangeResponse() },
        Scenario("002", "native-sso session end") { try await $0.endSessionAsOperator() },
        Scenario("003", "sign-in") { try await $0.signIn() },
        Scenario("003", "callback errors") { try await $0.callbackErrors() },
        Scenario("003", "token validation") { try await $0.idTokenValidation() },
        Scenario("003", "userinfo") { try await $0.userInfo() },
        Scenario("003", "session management") { try await $0.sessionManagement() },
        Scenario("003", "consent") { try await $0.consent() },
        Scenario("003", "hand-off to the web") { try await $0.handOffToWeb() },
        Scenario("004", "steps 1–10") { try await $0.nativeFlow() },
        Scenario("000", "scenario 2D: refresh token expired") { try await $0.expiredRefreshToken() },
        Scenario("001", "scenario 2c, silent authentication") { try await $0.silentAuthentication() },
        Scenario("002", "logout at the IdP") { try await $0.logOutAtProvider() },
        Scenario("003", "authentication methods") { try await $0.secondFactor() },
        Scenario("001", "key rotation") { try await $0.keyRotation() },
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

    /// Sorted by document.
    var lines: [String] {
        let scenarios = Scenario.all.enumerated().sorted {
            ($0.element.document, $0.offset) < ($1.element.document, $1.offset)
        }.map(\.element)
        let width = scenarios.map(\.title.count).max() ?? 0
        func line(_ title: String, _ cells: [String]) -> String {
            let cells = zip(walks, cells).map { Self.padded($1, to: max($0.label.count, 6)) }
            let line = ([Self.padded(title, to: width)] + cells).joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
        return [line("scenario", walks.map(\.label))]
            + scenarios.map { scenario in
                line(
                    scenario.title,
                    walks.map { walk in
                        passed[Self.cell(scenario, walk)].map { $0 ? "passed" : "FAILED" } ?? "–"
                    })
            }
    }

    private static func cell(_ scenario: Scenario, _ walk: DemonstratedProfile) -> String {
        "\(scenario.title)/\(walk)"
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
