import Hummingbird
import JOSE
import OAuthWire
import StrictCoding

/// What a logout request says, OpenID Connect RP-Initiated Logout 1.0 §2.
struct LogoutRequest {
    let clientID: String?
    /// Where to send the browser afterwards; set only if it is registered for the client.
    let redirectURI: String?
    let state: String?
}

/// `GET` and `POST /logout`.
struct LogoutController: Sendable {
    let provider: Provider

    func logout(_ request: Request, _ context: some RequestContext) async -> Response {
        guard let parameters = try? await request.parameters() else {
            return .page(.problem("The app sent a request that cannot be read."), status: .badRequest)
        }
        let hint = parameters["id_token_hint"].flatMap(hint)
        if parameters["id_token_hint"] != nil, hint == nil {
            return .page(.problem("The app sent an id_token that is not from here."), status: .badRequest)
        }
        let clientID = parameters["client_id"] ?? hint?.clientID
        if let hint, let clientID, !hint.clientID.hasSameOctets(as: clientID) {
            return .page(.problem("The id_token was issued to another app."), status: .badRequest)
        }
        let redirectURI = parameters["post_logout_redirect_uri"]
        if let redirectURI {
            let client = clientID.flatMap(provider.configuration.client)
            guard client?.postLogoutRedirectURIs.contains(where: { $0.hasSameOctets(as: redirectURI) }) == true else {
                return .page(
                    .problem("The app asked to go to an address that is not registered for it."), status: .badRequest)
            }
        }
        return await end(
            LogoutRequest(clientID: clientID, redirectURI: redirectURI, state: parameters["state"]), hint: hint,
            csrfToken: parameters["csrf_token"], cookie: request.cookies[provider.cookies.session]?.value)
    }

    private func end(
        _ request: LogoutRequest, hint: IDTokenHint?, csrfToken: String?, cookie: String?
    ) async -> Response {
        let session = await provider.state.session(cookie: cookie, at: provider.now())
        if let sid = hint?.sid {
            // An app may end its own login from outside the browser. The `sid` of its id_token names the session.
            await provider.endSession(sid: sid)
        } else if let session {
            let isVouchedFor = hint?.subject.hasSameOctets(as: session.subject) == true
            let isConfirmed = csrfToken.map { ConstantTime.equal($0.utf8, session.logoutToken.utf8) } ?? false
            guard isVouchedFor || isConfirmed else {
                return .page(.confirmLogout(csrfToken: session.logoutToken, request: request))
            }
            await provider.endSession(sid: session.sid)
        }
        var response: Response =
            if let uri = request.redirectURI {
                provider.redirect(to: uri, [], state: request.state)
            } else {
                .page(.loggedOut)
            }
        response.setCookie(BrowserCookie.expire(provider.cookies.session))
        return response
    }

    /// An id_token as a hint: ours by its signature, of any age (RP-Initiated Logout 1.0 §2).
    private func hint(_ token: String) -> IDTokenHint? {
        guard let jws = try? CompactJWS(token),
            let key = provider.signingKeys.published.first(where: { $0.keyID == jws.header.keyID }),
            let claims = try? jws.verified(by: key).claims,
            claims.string("iss")?.hasSameOctets(as: provider.configuration.issuer) == true,
            let subject = claims.string("sub"), let clientID = claims.string("aud")
        else { return nil }
        return IDTokenHint(subject: subject, clientID: clientID, sid: claims.string("sid"))
    }
}

/// What an id_token says about the login that it came from.
private struct IDTokenHint {
    let subject: String
    let clientID: String
    /// nil where the provider is plain.
    let sid: String?
}
