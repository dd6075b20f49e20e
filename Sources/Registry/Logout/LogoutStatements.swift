import NativeSSO
import PostgresClient

enum LogoutStatements {
    /// $1 digest, $2 issuer, $3 sid or NULL, $4 subject or NULL, $5 issued at, $6 row of an unknown session.
    static let begin = Statement("SELECT native_sso.begin_logout($1, $2, $3, $4, $5, $6)")
    /// $1 request, $2 issuer, $3 sid or NULL, $4 subject or NULL, $5 came in until, $6 after which row, $7 how many.
    static let end = Statement("SELECT ended, after FROM native_sso.end_logged_out($1, $2, $3, $4, $5, $6, $7)")
    /// $1 request, $2 digest, $3 when the token is refused for its age, $4 issuer, $5 of all sessions of a user, $6 how
    /// many were ended.
    static let finish = Statement("SELECT native_sso.finish_logout($1, $2, $3, $4, $5, $6)")

    static let all = [begin, end, finish]
}

extension LogoutSubject {
    /// As the functions take it: sid, subject; one of the two is NULL.
    var parameters: [PostgresValue] {
        switch self {
        case .session(let sid): [.text(sid.string), .null]
        case .user(let subject): [.null, .text(subject.string)]
        }
    }

    var isUser: Bool { if case .user = self { true } else { false } }
}
