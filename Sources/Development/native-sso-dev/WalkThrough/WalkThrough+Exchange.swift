import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NativeSSOClient
import OAuthWire
import StrictCoding

/// Steps 9 to 13: tokens for both apps at the broker, and what they open.
extension WalkThrough {
    /// App 2 exchanges what app 1 left in the keychain, and app 1 does the same for itself.
    func exchange() async throws -> (DemonstrationApp, DemonstrationApp) {
        let two = try start(.two)
        narrator.step(9, "app-two finds the login in the shared keychain and exchanges it at the broker")
        let token = try await two.tokens.accessToken()
        narrator.step(10, "app-two has tokens of its own, without a browser")
        try show(token, of: two)
        let one = try start(.one)
        narrator.step(11, "app-one exchanges its own id_token, which the broker allows it")
        try show(try await one.tokens.accessToken(), of: one)
        return (one, two)
    }

    func callServers(_ apps: DemonstrationApp...) async throws {
        narrator.step(
            12, "both servers take both apps' tokens; they verify them by the broker's keys, without asking it")
        for app in apps {
            for (server, path) in [
                (description.serverA, "/profile"), (description.serverA, "/orders"), (description.serverB, "/profile"),
                (description.serverB, "/orders"),
            ] {
                try await call(server + path, as: app)
            }
        }
    }

    /// Kills the app: what it had in memory is gone.
    func restart(_ app: DemonstrationApp) async throws -> DemonstrationApp {
        narrator.step(
            13, "\(app.app.clientID) is killed and started again: it refreshes with what its own keychain holds")
        let before = try await app.tokens.accessToken()
        let restarted = try start(app.app)
        let after = try await restarted.tokens.accessToken()
        try expect(after.secret != before.secret, "a refresh gives a new access token")
        try await call(description.serverA + "/profile", as: restarted)
        return restarted
    }

    /// Waits until the app's access token has expired.
    func expire(_ app: DemonstrationApp) async throws {
        let token = try await app.tokens.accessToken()
        let expiry = try expiry(of: token)
        narrator.step(14, "\(app.app.clientID)'s access token expires, and one refresh later it is let in again")
        try await Expiry.wait(until: expiry)
        try await call(description.serverA + "/orders", token, as: app, expecting: 401)
        let fresh = try await app.tokens.accessToken(insteadOf: token)
        try await call(description.serverA + "/orders", fresh, as: app, expecting: 200)
    }

    private func show(_ token: Credential, of app: DemonstrationApp) throws {
        guard let claims = TokenClaims.read(token) else { throw StepFailure("the access token is no JWT") }
        for name in ["iss", "sub", "aud", "client_id", "scope", "exp"] {
            guard let value = claims[name] else { throw StepFailure("the access token has no \(name)") }
            narrator.note("\(name): \(Narrator.text(value))")
        }
        try expect(claims.string("client_id") == app.app.clientID, "the access token is \(app.app.clientID)'s")
        try expect(claims.string("iss") == description.broker, "the access token comes from the broker")
    }

    private func expiry(of token: Credential) throws -> Int64 {
        guard let expiry = TokenClaims.read(token)?.number("exp")?.wholeSeconds else {
            throw StepFailure("the access token has no exp")
        }
        return expiry
    }

    /// As an app does it: a token that expires on the way, as it may on a slow machine, is replaced once.
    private func call(_ address: String, as app: DemonstrationApp) async throws {
        var token = try await app.tokens.accessToken()
        var status = try await send(token, to: address, as: app)
        if status == 401, try expiry(of: token) <= Int64(time(nil)) {
            token = try await app.tokens.accessToken(insteadOf: token)
            status = try await send(token, to: address, as: app)
        }
        try expect(status == 200, "\(address) answers 200, not \(status)")
    }

    private func call(
        _ address: String, _ token: Credential, as app: DemonstrationApp, expecting status: Int
    ) async throws {
        let answer = try await send(token, to: address, as: app)
        try expect(answer == status, "\(address) answers \(status), not \(answer)")
    }

    /// Asks a server, and tells of it; the status of its answer.
    private func send(_ token: Credential, to address: String, as app: DemonstrationApp) async throws -> Int {
        let answer = try await ServerCall(address: address, token: token).run()
        narrator.note(
            "\(app.app.clientID): GET \(address) Bearer \(Narrator.short(token.secret)) ← \(answer.status) \(answer.body)"
        )
        return answer.status
    }
}

enum Expiry {
    /// Returns when the clock says that `expiry` (seconds since 1970) has passed.
    static func wait(until expiry: Int64) async throws {
        while case let now = Int64(time(nil)), now <= expiry {
            try await Task.sleep(for: .seconds(expiry - now + 1))
        }
    }
}

/// One request to a resource server.
struct ServerCall {
    let address: String
    let token: Credential

    func run() async throws -> (status: Int, body: String) {
        var request = HTTPClientRequest(url: address)
        request.headers.add(name: "authorization", value: "Bearer \(token.secret)")
        let response = try await PlainHTTP.client.execute(request, timeout: .seconds(10))
        let body = try await response.body.collect(upTo: 64 << 10)
        return (Int(response.status.code), String(buffer: body))
    }
}
