/// How many calls of a statement are made by another one: it takes them as an array, and answers those that it could make.
///
/// Its one parameter is an array of a composite type whose attributes are parameters of a call. Its rows have the columns of the
/// statement's own answer, among them `place`, the call's place in the array, a `bigint` from 1 on; one row for a call at most.
/// A call that is not answered had no effect, and is then made by itself.
public final class Gathering: Sendable {
    /// A parameter of the statement, counted from 0, and the type of the attribute that it becomes.
    public struct Field: Sendable {
        let parameter: Int
        let type: ColumnType

        /// An attribute's type, which is never a domain: a domain's object id is another in each database.
        public enum FieldType: Sendable {
            case bool, int32, int64, text, bytes, uuid, timestamp, textArray
        }

        public init(_ parameter: Int, _ type: FieldType) {
            self.parameter = parameter
            self.type =
                switch type {
                case .bool: .bool
                case .int32: .int4
                case .int64: .int8
                case .text: .text
                case .bytes: .bytea
                case .uuid: .uuid
                case .timestamp: .timestamptz
                case .textArray: .textArray
                }
        }
    }

    /// That which makes them.
    public let statement: Statement
    /// The composite type, with its schema.
    let element: StaticString
    /// Its attributes, in their order.
    let fields: [Field]
    /// Calls in which one of these parameters is not NULL are always made each by itself.
    let absent: [Int]

    public init(_ sql: StaticString, of element: StaticString, _ fields: [Field], withoutParameters absent: [Int]) {
        statement = Statement(sql)
        self.element = element
        self.fields = fields
        self.absent = absent
    }

    func takes(_ parameters: EncodedParameters) -> Bool {
        absent.allSatisfy { parameters.lengths.indices.contains($0) && parameters.lengths[$0] < 0 }
    }
}
