import Crypto
import Foundation
import OAuthWire
import StrictCoding
import Synchronization
import BrokerHarness

extension Glewlwyd {
    /// A browser with its cookies, and its user.
    final class Visitor: Sendable {
        private let port: UInt16
        private let issuer: String
        private let cookies = Mutex<[String: String]>([:])

        init(of provider: Glewlwyd) {
            port = provider.port
            issuer = provider.issuer
        }

        /// Sends a request of its pages, or of the administrator's.
        @discardableResult
        func send(
            _ method: String, _ target: String, json: String? = nil, expecting status: Int = 200
        ) async throws -> HTTPAnswer {
            let cookie = cookies.withLock { $0.map { "\($0.key)=\($0.value)" }.joined(separator: "; ") }
            var fields = [(name: "Cookie", value: cookie)]
            if json != nil { fields.append((name: "Content-Type", value: "application/json")) }
            let answer = try await HTTPRequest(method, target, fields: fields, body: Array((json ?? "").utf8))
                .send(to: port)
            for text in answer.values(of: "Set-Cookie") {
                let pair = text.prefix { $0 != ";" }.split(
                    separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                if pair.count == 2 { cookies.withLock { $0[String(pair[0])] = String(pair[1]) } }
            }
            guard answer.status == status else {
                throw Failure(description: "\(method) \(target.prefix { $0 != "?" }): \(answer.status) \(answer.text)")
            }
            return answer
        }

        func cookie(_ name: String) -> String? { cookies.withLock { $0[name] } }

        func logIn(_ name: String, password: String) async throws {
            try await send("POST", "/api/auth/", json: #"{"username": "\#(name)", "password": "\#(password)"}"#)
        }

        /// A login of the user for an app: consent, authorization request, and the app's token request. Its answer.
        func authorize(
            _ client: String, redirectURI: String, demands: [(name: String, value: String)] = []
        ) async throws -> JSONObject {
            let (code, verifier) = try await code(client, redirectURI: redirectURI, demands: demands)
            let form = TokenForm([
                "grant_type": "authorization_code", "client_id": client, "code": code, "redirect_uri": redirectURI,
                "code_verifier": verifier,
            ])
            let answer = try await HTTPRequest.token(form.parameters, to: "/api/oidc/token").send(to: port)
            guard answer.status == 200, let tokens = answer.json else {
                throw Failure(description: "token: \(answer.status) \(answer.text)")
            }
            return tokens
        }

        /// The code of a login for an app, and what proves that the app asked for it.
        func code(
            _ client: String, redirectURI: String, demands: [(name: String, value: String)] = []
        ) async throws -> (code: String, verifier: String) {
            try await send("PUT", "/api/auth/grant/\(client)", json: #"{"scope": "openid"}"#)
            let verifier = Unguessable.make()
            let query = FormEncoder.encode(
                [
                    (name: "response_type", value: "code"), (name: "client_id", value: client),
                    (name: "redirect_uri", value: redirectURI), (name: "scope", value: "openid"),
                    (name: "state", value: "s"), (name: "nonce", value: "n-0S6_WzA2Mj"),
                    (name: "code_challenge", value: Base64URL.encode(Array(SHA256.hash(data: Array(verifier.utf8))))),
                    (name: "code_challenge_method", value: "S256"),
                ] + demands)
            // Its login page goes on with that parameter when the user has logged in and agreed.
            let target = "/api/oidc/auth?\(String(decoding: query, as: UTF8.self))&g_continue"
            let redirect = try await send("GET", target, expecting: 302)
            guard let location = redirect["Location"], location.hasPrefix(redirectURI),
                let code = URLComponents(string: location)?.queryItems?.first(where: { $0.name == "code" })?.value
            else { throw Failure(description: "no code: \(redirect["Location"] ?? "")") }
            return (code, verifier)
        }

        /// Leaves, as the page does that its `end_session_endpoint` leads to.
        func logOut(_ idToken: String) async throws {
            let query = FormEncoder.encode([(name: "id_token_hint", value: idToken)])
            let target = "/api/oidc/end_session?\(String(decoding: query, as: UTF8.self))"
            let page = try await send("GET", target, expecting: 302)
            guard let location = page["Location"],
                let sid = URLComponents(string: location)?.queryItems?.first(where: { $0.name == "sid" })?.value
            else { throw Failure(description: "no session to end: \(page["Location"] ?? "")") }
            try await send("DELETE", "/api/oidc/session/\(sid)/")
        }
    }
}
