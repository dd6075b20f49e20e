import NativeSSO
import PostgresClient

enum LogoutStatements {
    /// $1 digest, $2 issuer, $3 sid or NULL, $4 subject or NULL, $5 issued at, $6 row of the mark, $7 only nameless ones.
    static let begin = Statement("SELECT native_sso.begin_logout($1, $2, $3, $4, $5, $6, $7)")
    /// $1 request, $2 issuer, $3 sid or NULL, $4 subject or NULL, $5 came in until, $6 after which row, $7 how many, $8 only
    /// nameless ones, $9 issued at.
    static let end = Statement("SELECT ended, after FROM native_sso.end_logged_out($1, $2, $3, $4, $5, $6, $7, $8, $9)")
    /// $1 request, $2 digest, $3 when the token is refused for its age, $4 issuer, $5 of all sessions of a user, $6 how
    /// many were ended, $7 row of the mark.
    static let finish = Statement("SELECT native_sso.finish_logout($1, $2, $3, $4, $5, $6, $7)")

    static let all = [begin, end, finish]
}

extension LogoutSubject {
    /// sid, subject.
    var names: [PostgresValue] { [.optionalText(session?.string), .optionalText(user?.string)] }
}
