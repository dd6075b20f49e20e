import BrokerHarness
import DevelopmentIdP
import Foundation
import NativeSSOClient
import OAuthWire
import StrictCoding

/// Two apps on one device, and what a person can do with them: the page's buttons.
actor Phones {
    /// One press, and what came of it.
    struct Report: Sendable {
        var press = ""
        var summary = "Press “log in” to begin."
        var failed = false
        var exchanges: [Exchange] = []
    }

    enum Outcome: Sendable {
        case done
        /// The browser goes to the IdP.
        case navigate(String)
    }

    /// What a press says.
    struct Press: Sendable {
        let name: String
        let app: String
        let profile: DemonstratedProfile
        let asksConsent: Bool
        let asksSecondFactor: Bool
    }

    struct Refused: Error, CustomStringConvertible {
        let description: String
    }

    private let description: EnvironmentDescription
    private let recorder = ExchangeRecorder()
    private var run: ScenarioRun
    private var attempt: LoginAttempt?
    /// The `state` of a logout that is on its way.
    private var leaving: String?
    /// After the operator has ended a session, the IdP's own session must not bring it back.
    private var mustLogInAgain = false
    private var login: ScenarioRun.Login?
    private var running: [String: AppTokens] = [:]
    /// The access tokens in the apps' memory.
    private var memory: [String: Credential] = [:]
    private var steps: Set<Int> = []
    private var report = Report()
    private var isBusy = false

    static let apps = [SampleApp.one, .two]
    static let profiles: [DemonstratedProfile] = [.deviceID, .deviceSecret, .enrolled, .redeemed]

    init(_ description: EnvironmentDescription) throws {
        self.description = description
        run = try Self.run(description, .deviceID, recorder)
    }

    private static func run(
        _ description: EnvironmentDescription, _ profile: DemonstratedProfile, _ recorder: ExchangeRecorder
    ) throws -> ScenarioRun {
        try ScenarioRun(
            description: description, profile: profile, directory: "page-\(profile)", write: { _ in },
            observe: { try recorder.record($0) })
    }

    /// Carries out a press. Its report is in the state afterwards.
    func press(_ press: Press) async throws(Refused) -> Outcome {
        guard !isBusy else { throw Refused(description: "The last press has not ended yet.") }
        return await carryOut(press.name) { try await $0.perform(press) } ?? .done
    }

    /// Nil after a failure, which the report tells.
    @discardableResult
    private func carryOut<Result>(
        _ press: String, failure: String = "", _ work: @Sendable (isolated Phones) async throws -> Result
    ) async -> Result? {
        isBusy = true
        defer { isBusy = false }
        report = Report(press: press, summary: "")
        var result: Result?
        do { result = try await work(self) } catch {
            report.failed = true
            report.summary = "\(failure)\(error)"
        }
        await close()
        return result
    }

    private func perform(_ press: Press) async throws -> Outcome {
        let app = Self.apps.first { $0.clientID == press.app } ?? .one
        switch press.name {
        case "log in": return .navigate(try await begin(press))
        case "open app two": try await openAppTwo()
        case "open web app": try await openWebApp()
        case "call API": try await callServers(app)
        case "kill app": kill(app)
        case "expire token": try await expire(app)
        case "lose the answer": try await loseAnswer(app)
        case "steal the keychain": try await steal()
        case "sign out": return .navigate(try signOut())
        case "end session as operator": try await endSession()
        default: throw StepFailure("There is no such button.")
        }
        return .done
    }

    /// Adds what the broker's operator would read about a refusal.
    private func close() async {
        for var exchange in recorder.take() {
            if exchange.status >= 400, exchange.address == description.tokenEndpoint, let id = exchange.requestID {
                exchange.explanation = try? await description.explanation(of: id)
            }
            report.exchanges.append(exchange)
        }
    }

    // MARK: Logging in

    private func begin(_ press: Press) async throws -> String {
        run = try Self.run(description, press.profile, recorder)
        (login, running, memory, steps) = (nil, [:], [:], [0, 1, 2])
        let app = SampleApp(
            clientID: SampleApp.one.clientID,
            redirectURI: SampleApp.loopbackRedirect(of: .one, port: description.ports.page), sharesLogins: true)
        let attempt = await run.attempt(for: app)
        self.attempt = attempt
        report.summary = "app-one opens the system browser at the IdP."
        let prompts = (mustLogInAgain ? ["login"] : []) + (press.asksConsent ? ["consent"] : [])
        mustLogInAgain = false
        return attempt.address(
            prompt: prompts.isEmpty ? nil : prompts.joined(separator: " "),
            contextClasses: press.asksSecondFactor ? ["urn:example:acr:totp"] : [])
    }

    /// The browser is back, at the address that stands for the app's own scheme.
    func finishLogin(callback: String) async {
        guard !isBusy, let attempt else { return }
        // Any page can send the browser here: what does not answer this attempt changes nothing.
        do throws(CallbackError) {
            _ = try attempt.code(from: callback)
        } catch {
            guard case .refused = error else { return }
        }
        self.attempt = nil
        await carryOut("log in", failure: "The login failed: ") { phones in
            let login = try await phones.run.finish(.one, attempt, callback, UserAgent())
            try await login.shared.save(to: phones.run.device.shared)
            phones.login = login
            phones.memory[SampleApp.one.clientID] = login.tokens.accessToken
            phones.steps.formUnion(3...8)
            phones.report.summary = "app-one is logged in. The shared keychain holds the id_token and the device value."
        }
    }

    // MARK: The other buttons

    private func openAppTwo() async throws {
        guard login != nil else { throw StepFailure("The shared keychain is empty: log in with app-one first.") }
        running[SampleApp.two.clientID] = try await run.start(.two)
        steps.insert(9)
        try await token(of: .two)
        steps.insert(10)
        report.summary = "app-two has tokens of its own, without a browser."
    }

    /// The app's access token at the broker.
    @discardableResult
    private func token(of app: SampleApp, insteadOf old: Credential? = nil) async throws -> Credential {
        let tokens = try await tokens(of: app)
        do throws(ClientError) {
            let token =
                if let old { try await tokens.accessToken(insteadOf: old) } else { try await tokens.accessToken() }
            memory[app.clientID] = token
            return token
        } catch {
            memory[app.clientID] = nil
            throw Self.failure(error, of: app)
        }
    }

    private func tokens(of app: SampleApp) async throws -> AppTokens {
        if let tokens = running[app.clientID] { return tokens }
        let tokens = try await run.start(app)
        running[app.clientID] = tokens
        return tokens
    }

    private static func failure(_ error: ClientError, of app: SampleApp) -> StepFailure {
        switch error {
        case .refused(let refusal):
            StepFailure("The broker refuses \(app.clientID): \(refusal.error). The app's next step: log in.")
        case .notLoggedIn: StepFailure("The shared keychain is empty: log in with app-one first.")
        default: StepFailure("\(error)")
        }
    }

    private func openWebApp() async throws {
        guard let login else { throw StepFailure("The shared keychain is empty: log in with app-one first.") }
        try await run.openWebApp(with: login)
        report.summary =
            "app-one got a code and opened it in the browser. The web app's server exchanged the code for tokens of the session."
    }

    private func callServers(_ app: SampleApp) async throws {
        let token = try await token(of: app)
        for api in SampleAPI.all where try await run.ask(api, with: token, by: app).status != 200 {
            throw StepFailure("A server does not take the token.")
        }
        report.summary = "Both servers take \(app.clientID)'s token. They verified it by the broker's keys."
    }

    private func kill(_ app: SampleApp) {
        running[app.clientID] = nil
        memory[app.clientID] = nil
        report.summary = "\(app.clientID) is killed: its memory is empty. Its keychain still holds its refresh token."
    }

    private func expire(_ app: SampleApp) async throws {
        let token = try await token(of: app)
        let expiry = try TokenClaims.time("exp", of: token)
        let left = expiry - Int64(time(nil))
        guard left <= 30 else {
            throw StepFailure("The access token lasts \(left) s more. Start with --access-token-lifetime 10.")
        }
        try await Expiry.wait(until: expiry)
        let refused = try await run.ask(.a, with: token, by: app).status
        let fresh = try await self.token(of: app, insteadOf: token)
        let status = try await run.ask(.a, with: fresh, by: app).status
        report.summary = "ServerA answered \(refused) to the expired token. One refresh later it answered \(status)."
    }

    /// The broker answers a refresh and the answer is lost: the app sends the same refresh token again.
    private func loseAnswer(_ app: SampleApp) async throws {
        let token = try await token(of: app)
        let tokens = try await tokens(of: app)
        recorder.loseNext()
        do throws(ClientError) {
            _ = try await tokens.accessToken(insteadOf: token)
            throw ClientError.unexpectedAnswer(status: 200)
        } catch {
            guard case .noAnswer = error else { throw StepFailure("The answer was not lost: \(error)") }
        }
        try await self.token(of: app)
        report.summary =
            "The broker had used up the refresh token, and its answer was lost. The app repeated the request and got the same "
            + "successor: nothing is lost, and no new login is needed."
    }

    private func steal() async throws {
        guard let login else { throw StepFailure("The shared keychain is empty: there is nothing to steal.") }
        let copy = SharedLogin(idToken: login.shared.idToken, device: run.profile.foreignDevice)
        for (thief, shared) in [(SampleApp.two, copy), (.three, login.shared)] {
            do throws(ClientError) {
                _ = try await run.endpoint(of: thief, atBroker: true).exchange(shared, issuer: run.sharedIssuer)
            } catch {
                guard case .refused = error else { throw StepFailure("\(error)") }
                continue
            }
            throw StepFailure("The broker gave the thief a token.")
        }
        report.summary =
            "Refused twice: the id_token without the device value, and both in the hands of another vendor's app. A thief who "
            + "copies everything and speaks as app-two looks like app-two: DPoP, or the end of the session, stops them."
    }

    /// The browser has to go there itself: a plain IdP knows the session by its cookie alone.
    private func signOut() throws -> String {
        guard let login, let hint = login.shared.providerIDToken ?? login.tokens.idToken
        else {
            throw StepFailure("No user is logged in.")
        }
        let state = DeviceIdentifier().text
        leaving = state
        report.summary = "The browser goes to the IdP's end_session_endpoint."
        let query = FormEncoder.encode([
            (name: "id_token_hint", value: hint.secret),
            (name: "post_logout_redirect_uri", value: SampleApp.signedOut(page: description.ports.page)),
            (name: "state", value: state),
        ])
        return run.issuer + "/logout?" + String(decoding: query, as: UTF8.self)
    }

    /// The browser is back from the IdP.
    func finishSignOut(state: String) async {
        guard !isBusy, let leaving, leaving.utf8.elementsEqual(state.utf8) else { return }
        self.leaving = nil
        await carryOut("sign out") { phones in
            try await phones.showRefusal("dave signed out at the IdP, which told the broker.")
            // A plain IdP names the user alone: the next login begins in a later second than this end.
            try await Expiry.wait(until: Int64(time(nil)))
        }
    }

    private func endSession() async throws {
        guard let login, let sid = TokenClaims.read(login.shared.idToken)?.string("sid") else {
            throw StepFailure("No user is logged in.")
        }
        let arguments = [
            "session", "end", "--issuer", run.issuer, "--sid", sid, "--reason", "page", "--execute",
        ]
        let ended = try await description.administer(arguments)
        report.exchanges.append(
            Exchange(
                command: "native-sso \(arguments.joined(separator: " "))", status: Int(ended.status),
                output: ended.output + ended.errors))
        guard ended.status == 0 else { throw StepFailure("The command failed.") }
        mustLogInAgain = true
        try await showRefusal("The operator ended the session.")
    }

    /// The next request of app-two in the session that has ended.
    private func showRefusal(_ text: String) async throws {
        try await run.device.shared.removeItem(SharedLogin.item)
        defer { login = nil }
        guard let shared = login?.shared else { return }
        do throws(ClientError) {
            _ = try await run.endpoint(of: .two, atBroker: true).exchange(shared, issuer: run.sharedIssuer)
        } catch {
            guard case .refused(let refusal) = error else { throw StepFailure("\(error)") }
            (memory, running) = ([:], [:])
            report.summary = "\(text) app-two's next request is refused: \(refusal.error)."
            return
        }
        throw StepFailure("\(text) But app-two still gets a token.")
    }

    // MARK: The state as the page shows it

    func json() async throws -> [UInt8] {
        let user = try await run.user("dave")
        let shared = login.flatMap { TokenClaims.read($0.shared.idToken) }
        var keychains: [Bool] = []
        for app in Self.apps { keychains.append(try await run.device.keychain(of: app).item(AppTokens.item) != nil) }
        var json = JSONWriter()
        json.object { json in
            json.member("profile", "\(run.profile)")
            json.member("issuer", run.issuer)
            json.member("username", user.username)
            json.member("password", user.password)
            json.member("code", user.secondFactor?.digits(at: Int64(time(nil))) ?? "")
            json.member("steps", array: { json in for step in steps.sorted() { json.value(Int64(step)) } })
            json.member(
                "apps",
                array: { json in
                    for (app, isKept) in zip(Self.apps, keychains) {
                        json.object { json in
                            json.member("client_id", app.clientID)
                            json.member("memory", memory[app.clientID].map { Narrator.short($0.secret) } ?? "")
                            json.member("expires_at", expiry(of: app))
                            json.member("keychain", isKept)
                        }
                    }
                })
            json.member(
                "keychain",
                array: { json in
                    for name in ["iss", "sub", "aud", "sid", run.profile.hashClaim] {
                        guard let value = shared?[name] else { continue }
                        json.value("\(name): \(Narrator.text(value))")
                    }
                })
            json.member("press", report.press)
            json.member("summary", report.summary)
            json.member("failed", report.failed)
            json.member(
                "exchanges",
                array: { json in for exchange in report.exchanges { json.object { exchange.write(to: &$0) } } })
        }
        return json.bytes
    }

    private func expiry(of app: SampleApp) -> Int64 {
        memory[app.clientID].flatMap { try? TokenClaims.time("exp", of: $0) } ?? 0
    }
}
