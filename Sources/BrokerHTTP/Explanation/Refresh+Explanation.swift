import NativeSSO

extension RefreshRefusal {
    var explanation: RefusalExplanation {
        switch self {
        case .tokenNotOurs:
            .init(
                "the refresh token is none of this broker's: wrong form, unknown key or changed",
                "Send the refresh_token that the broker gave, unchanged; one of the identity provider's goes to the identity provider."
            )
        case .assertionReplayed: ClientRefusal.assertionReplayed.explanation
        case .proofReplayed:
            .init(
                "the DPoP proof was used before, at this broker or another",
                "Make a proof for each request, also for a retry.")
        case .grantUnknown:
            .init("the grant of the refresh token is gone: it was swept long after its end", "The app exchanges again.")
        case .grantRevoked:
            .init(
                "the grant was revoked before, by an operator or because a spent refresh token came back",
                "The app exchanges again, and where that asks for a login, the user logs in. native-sso audit list has the grant's end under its session."
            )
        case .grantExpired: .init("the grant has reached its lifetime", "The app exchanges again.")
        case .proofMissing:
            .init("the grant is bound to a key, and there is no DPoP proof", "Send a proof by the key of the exchange.")
        case .keyMismatch:
            .init(
                "the DPoP proof is by another key than the grant is bound to",
                "Use the key of the exchange. If it is lost, exchange again.")
        case .proofsOff:
            .init(
                "the grant is bound to a key, and the client's DPoP policy is off by now",
                "The operator sets it back, or the app exchanges again.")
        case .foreignClient:
            .init(
                "the refresh token was issued to another app, so it was copied; the grant is revoked",
                "Keep refresh tokens out of the shared keychain: each app has its own. The other app exchanges again.")
        case .replayed:
            .init(
                "the refresh token was used before and its successor is in use, so somebody holds a copy; the grant is revoked",
                "Store the new refresh token before it is used, and refresh once at a time. The user logs in again: this app's exchanges of an older login are refused."
            )
        case .late:
            .init(
                "the refresh token was used before, and comes back too late for its lost successor; the grant is revoked",
                "Repeat a refresh without an answer within seconds, and keep the token in one place. The app exchanges again; a login is needed only if the successor is presented after all."
            )
        case .superseded:
            .init(
                "the refresh token is from before the app's last exchange, which began the grant anew",
                "Store what an exchange gives for the whole app. This part of it exchanges again; no login is needed.")
        case .stateRegressed:
            .init(
                "the broker issued the refresh token, and its database has forgotten: it lost writes; the grant is revoked",
                "The app exchanges again. The operator looks for a restore or a failover that went back in time.")
        case .clientDisabled:
            .init("the app is disabled", "The operator can enable it again: native-sso client enable.")
        case .sharingEnded:
            .init(
                "the app and the one whose login it uses share no group any more, in this direction",
                "The operator can put that back: native-sso group member add.")
        case .sessionEnded:
            .init("the login is over: the user logged out, or an operator ended it", "The user logs in again.")
        case .sessionExpired:
            .init("the login has reached its absolute lifetime (sessions.absolute)", "The user logs in again.")
        case .sessionIdle:
            .init("no app has used the login for longer than sessions.idle", "The user logs in again.")
        case .deviceBlocked:
            .init("an operator has blocked the device", "The operator can unblock it: native-sso device unblock.")
        case .scopeExceedsGrant:
            .init(
                "the scope is beyond what was granted, or what the app may have now",
                "Ask for less, or leave scope out.")
        case .scopeEmpty:
            .init(
                "nothing of the granted scope is left to this app: its allowed scope or its ceiling was narrowed",
                "The operator looks at native-sso client show and native-sso group show.")
        }
    }
}

extension LogoutRefusal {
    var explanation: RefusalExplanation {
        switch self {
        case .missing: .init("logout_token is missing", "The identity provider posts it as a form.")
        case .malformed:
            .init("the logout token is no compact JWS, or its JSON is malformed", "Ask the identity provider.")
        case .headerRefused:
            .init("the header of the logout token has what is not understood", "Ask the identity provider.")
        case .wrongType: .init("typ of the logout token is not logout+jwt", "logout.allow_typ_jwt allows JWT, too.")
        case .algorithmNotAllowed:
            .init("the logout token is signed by an algorithm that is not configured", "See algorithms.")
        case .unknownKey: .init("no key of the identity provider fits the logout token", "Check jwks_uri.")
        case .keyRetired:
            .init("the key of the logout token left the key set", "The identity provider signs with a present key.")
        case .keyRevoked:
            .init("the key of the logout token was revoked", "The identity provider signs with another key.")
        case .badSignature: .init("the signature of the logout token is wrong", "Check what is between the two.")
        case .issuer: .init("iss of the logout token is no identity provider of this broker", "See identity_providers.")
        case .audience:
            .init(
                "aud of the logout token names someone who is neither registered here nor in logout.audiences",
                "The operator adds it to logout.audiences.")
        case .issuedAt:
            .init("iat of the logout token is missing, more than 5 minutes old or ahead", "Compare the clocks.")
        case .expiry:
            .init(
                "exp of the logout token is missing, past, not after iat or more than 5 minutes after it",
                "Compare the clocks; logout.allow_missing_exp allows it to be missing.")
        case .notBefore: .init("nbf of the logout token is malformed or ahead", "Compare the clocks.")
        case .tokenID: .init("jti of the logout token is missing or malformed", "Ask the identity provider.")
        case .events: .init("events of the logout token has not the back-channel logout", "Ask the identity provider.")
        case .nonce: .init("the logout token has a nonce", "It must have none: it may be an id_token.")
        case .subject: .init("sub of the logout token is malformed", "Ask the identity provider.")
        case .sessionID: .init("sid of the logout token is malformed", "Ask the identity provider.")
        case .nobody: .init("the logout token has neither sub nor sid", "Ask the identity provider.")
        case .replayed: .init("the logout token was used before", "Nothing: what it asks for is done.")
        }
    }
}
