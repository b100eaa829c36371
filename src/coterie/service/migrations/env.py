"""How Alembic gets at the database: by the connection that `migrate` hands it, in its transaction."""

from alembic import context

from coterie.service.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
